// SPDX-License-Identifier: Apache-2.0
// The three caches: C1 to C7 of docs/spec/numa.md section 12, on objects that are compared with
// their node's pods in every cycle.
#include "systems/numa/scheduling/cache.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::cache_test {
namespace {

using testing::make_pod;
using testing::make_request;
using testing::PodText;

const Key kFive{"ns", "five"};
const Key kFour{"ns", "four"};

PodRequest guaranteed(const std::string& cpu) {
  return make_request({.containers = {cpu + "/1Gi"}});
}

class NumaCache : public ::testing::Test {
 protected:
  NumaCache() {
    world.put(yaml::parse("{apiVersion: v1, kind: Node, metadata: {name: w}}").value());
    publish(8, 12, {});
  }
  // Writes the node's object with these cpus and the fingerprint of these pods.
  void publish(int first, int second, const std::vector<Key>& covered) {
    Value zones = Value::list();
    for (const auto& [free, all] : {std::pair{first, 8}, {second, 12}}) {
      const Value cpu = Value::object(
          {{"name", "cpu"}, {"capacity", all}, {"allocatable", all}, {"available", free}});
      const Value memory = Value::object({{"name", "memory"},
                                          {"capacity", "64Gi"},
                                          {"allocatable", "64Gi"},
                                          {"available", "64Gi"}});
      zones.push_back(Value::object({{"name", "node-" + std::to_string(zones.size())},
                                     {"type", "Node"},
                                     {"resources", Value::list({cpu, memory})}}));
    }
    Value attributes = Value::list();
    for (const auto& [name, value] :
         {std::pair{"topologyManagerPolicy", std::string("single-numa-node")},
          {"nodeTopologyPodsFingerprint", fingerprint_of(std::span<const Key>(covered))},
          {"nodeTopologyPodsFingerprintMethod", std::string(kMethodExclusive)}}) {
      attributes.push_back(Value::object({{"name", name}, {"value", value}}));
    }
    world.put(Value::object({{"apiVersion", kTopologyKind.api_version()},
                             {"kind", kTopologyKind.name},
                             {"metadata", Value::object({{"name", "w"}})},
                             {"attributes", std::move(attributes)},
                             {"zones", std::move(zones)}}));
  }
  void bind(const Key& key, const PodText& text, const std::string& scheduler = "topo") {
    Value pod = make_pod(text, key.name).body();
    pod.member("spec").set("nodeName", "w").set("schedulerName", scheduler);
    pod.set_path({"metadata", "creationTimestamp"},
                 "2026-01-05T00:00:0" + std::to_string(bound++) + "Z");
    world.put(pod);
  }
  std::string cpus(const std::vector<PodRequest>& placed = {}) {
    Reads reads;
    const View view(world, reads);
    const NodeView known =
        believed(view, world.must(api::kNode, {"", "w"}), profile, {.placed = placed});
    if (!known.fresh) {
      return "stale";
    }
    std::string text;
    for (const Zone& zone : known.topology->zones) {
      text += (text.empty() ? "" : " ") + std::to_string(amount_of(zone.available, "cpu") / kUnit);
    }
    return text;
  }
  int bound = 0;
  Profile profile{.name = "topo"};
  test::FakeWorld world{};
};

TEST_F(NumaCache, ReservedPodsCountInEveryZone) {  // C1, C2
  EXPECT_EQ(cpus({guaranteed("5")}), "3 7");
  EXPECT_EQ(cpus({guaranteed("5"), guaranteed("4")}), "0 3");
  EXPECT_EQ(cpus({guaranteed("4")}), "4 8");
  bind(kFive, {.containers = {"5/1Gi"}});
  bind(kFour, {.containers = {"4/1Gi"}});
  EXPECT_EQ(cpus(), "0 3");
}

TEST_F(NumaCache, PodsOutsideTheFingerprintStillCount) {  // C3
  bind(kFive, {.containers = {"5/1Gi"}});
  bind(kFour, {.containers = {"4/1Gi"}});
  publish(3, 12, {{"ns", "other"}});
  EXPECT_EQ(cpus(), "0 3");
  publish(3, 12, {kFive});
  EXPECT_EQ(cpus(), "0 8");
}

TEST_F(NumaCache, AMatchingFingerprintReplacesTheData) {  // C4, and C4b: no failure precedes
  bind(kFive, {.containers = {"5/1Gi"}});
  bind(kFour, {.containers = {"4/1Gi"}});
  publish(3, 8, {kFive, kFour});
  EXPECT_EQ(cpus(), "3 8");
}

TEST_F(NumaCache, AForeignPodBlocksTheNode) {  // C5, F20
  bind({"ns", "foreign"}, {.containers = {"2/1Gi"}}, "other");
  EXPECT_EQ(cpus(), "stale");
  publish(6, 12, {{"ns", "foreign"}});
  EXPECT_EQ(cpus(), "6 12");
  bind({"ns", "parts"}, {.containers = {"500m/1Gi"}}, "other");
  EXPECT_EQ(cpus(), "stale") << "exclusive through its memory";
}

TEST_F(NumaCache, ForeignPodsWithoutExclusiveResources) {  // C6
  bind({"ns", "foreign"}, {.containers = {"2/1Gi"}, .burstable = true}, "other");
  EXPECT_EQ(cpus(), "8 12");
  profile.resync = ResyncMethod::All;
  profile.foreign = ForeignPods::All;
  EXPECT_EQ(cpus(), "stale");
}

TEST_F(NumaCache, DiscardReservedWaitsForTheBinding) {  // C7
  profile.cache = Cache::DiscardReserved;
  EXPECT_EQ(cpus({guaranteed("5")}), "stale");
  EXPECT_EQ(cpus(), "8 12");
  // A binding that is under way: the pod names its node, and the API server has not said so yet.
  bind(kFive, {.containers = {"5/1Gi"}});
  world.update(api::kPod, kFive, [](Value& pod) { pod.set_path({"status", "phase"}, "Pending"); });
  EXPECT_EQ(cpus(), "stale");
  world.update(api::kPod, kFive, [](Value& pod) {
    pod.set_path({"status", "conditions"},
                 Value::list({Value::object({{"type", "PodScheduled"}, {"status", "True"}})}));
  });
  EXPECT_EQ(cpus(), "8 12") << "bound pods are not accounted";
  bind({"ns", "foreign"}, {.containers = {"2/1Gi"}}, "other");
  EXPECT_EQ(cpus(), "8 12");
}

TEST_F(NumaCache, PassthroughUsesTheObjectUnchanged) {
  profile.cache = Cache::Passthrough;
  bind(kFive, {.containers = {"5/1Gi"}});
  bind({"ns", "foreign"}, {.containers = {"2/1Gi"}}, "other");
  EXPECT_EQ(cpus({guaranteed("4")}), "8 12");
}

TEST_F(NumaCache, AttributesAreAlwaysTheObjects) {
  bind(kFive, {.containers = {"5/1Gi"}});
  world.update(kTopologyKind, {"", "w"}, [](Value& object) {
    object.member("attributes").item(0).set("value", "restricted");
  });
  Reads reads;
  const View view(world, reads);
  const NodeView known = believed(view, world.must(api::kNode, {"", "w"}), profile, {});
  EXPECT_EQ(known.topology->policy, "restricted");
}

}  // namespace
}  // namespace athanor::numa::cache_test
