// SPDX-License-Identifier: Apache-2.0
// Which pods of a node its NodeResourceTopology accounts already (docs/spec/numa.md 11.6, 11.7).
#include "systems/numa/scheduling/residents.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_world.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::residents_test {
namespace {

using testing::make_pod;
using testing::make_topology;

const Instant kStart = *parse_time("2026-01-05T00:00:00Z");

class NumaResidents : public ::testing::Test {
 protected:
  // A pod of so many cpus that was bound in this second, stored with this version.
  Resident pod(const std::string& name, const std::string& cpu, int second, int version = 1) {
    Value body = make_pod({.containers = {cpu + "/1Gi"}}, name).body();
    body.set_path({"metadata", "resourceVersion"}, std::to_string(version));
    body.set_path(
        {"status", "conditions"},
        Value::list({Value::object(
            {{"type", "PodScheduled"},
             {"status", "True"},
             {"lastTransitionTime", format_time(kStart + std::chrono::seconds(second))}})}));
    const Object object(std::move(body));
    return {object, request_of(object)};
  }
  // The fingerprint of these names, and so many cpus of the first zone given away with a GiB each
  // pod.
  void publish(const std::vector<std::string>& names, std::int64_t cpus, int version = 1) {
    std::vector<Key> keys;
    for (const std::string& name : names) {
      keys.push_back({"ns", name});
    }
    topology = make_topology({"16/32Gi", "16/32Gi"});
    topology.method = kMethodExclusive;
    topology.fingerprint = fingerprint_of(std::span<const Key>(keys));
    topology.resource_version = std::to_string(version);
    topology.zones[0].available["cpu"] -= cpus * kUnit;
    topology.zones[0].available["memory"] -=
        static_cast<std::int64_t>(names.size()) * (std::int64_t{1} << 30U) * kUnit;
  }
  [[nodiscard]] std::size_t count(int second = 3600, bool trusted = false) const {
    return covered(topology, residents,
                   {.now = kStart + std::chrono::seconds(second), .unfingerprinted = trusted});
  }

  Residents residents{};
  NodeTopology topology{};
};

TEST_F(NumaResidents, AllButTheNewestAreAccounted) {
  residents.active = {pod("a", "2", 1), pod("b", "3", 2), pod("c", "4", 3)};
  publish({"a", "b", "c"}, 9);
  EXPECT_EQ(count(), 3U);
  publish({"b", "a"}, 5);
  EXPECT_EQ(count(), 2U);
  publish({"a"}, 2);
  EXPECT_EQ(count(), 1U);
  publish({}, 0);
  EXPECT_EQ(count(), 0U);
  publish({"c"}, 4);  // no prefix: all of them count once more
  EXPECT_EQ(count(), 0U);
}

TEST_F(NumaResidents, PodsThatEndedMayStillBeListed) {  // N12: old kubelets
  residents.active = {pod("a", "2", 1), pod("b", "3", 2)};
  residents.ended = {pod("gone", "8", 0)};
  publish({"a", "gone", "b"}, 5);
  EXPECT_EQ(count(), 2U);
  publish({"a", "gone"}, 2);
  EXPECT_EQ(count(), 1U);
  publish({"a", "b"}, 5);
  EXPECT_EQ(count(), 2U);
}

TEST_F(NumaResidents, DelaysAccountingOfNamesakeOfFormerPod) {
  // The object accounts the pod "a" of 2 cpus that is gone; its namesake has 8.
  publish({"a"}, 2, 5);
  residents.active = {pod("a", "8", 100, 9)};
  EXPECT_EQ(count(101), 0U);
  EXPECT_EQ(count(399), 0U);
  // An exporter has told of it by then, and what does not agree has another reason.
  EXPECT_EQ(count(401), 1U);
  // It told of it.
  publish({"a"}, 8, 12);
  EXPECT_EQ(count(101), 1U);
  // One of the same size changes nothing.
  publish({"a"}, 8, 5);
  EXPECT_EQ(count(101), 1U);
  // Only the young ones are in doubt.
  residents.active = {pod("old", "4", -900, 2), pod("a", "8", 100, 9)};
  publish({"old", "a"}, 6, 5);
  EXPECT_EQ(count(101), 1U);
  // An object written after the pod's last change tells of it, whatever it says.
  publish({"old", "a"}, 6, 10);
  EXPECT_EQ(count(101), 2U);
}

TEST_F(NumaResidents, WithoutFingerprintsAmountsAreCompared) {
  residents.active = {pod("a", "2", 1, 3), pod("b", "3", 2, 4)};
  publish({"1", "2"}, 5);
  topology.fingerprint.clear();
  EXPECT_EQ(count(), 2U);
  publish({"1"}, 2);
  topology.fingerprint.clear();
  EXPECT_EQ(count(), 1U);
  publish({}, 0);  // written by hand, before the pods
  topology.fingerprint.clear();
  EXPECT_EQ(count(), 0U);
  // trustUnfingerprinted: believed once it changed after the pods.
  EXPECT_EQ(count(3600, true), 0U);
  topology.resource_version = "9";
  EXPECT_EQ(count(3600, true), 2U);
  EXPECT_EQ(count(3600, false), 0U);
}

// Node Feature Discovery writes no fingerprint, and its view of a node need not have the order in
// which pods were bound there.
TEST_F(NumaResidents, FindsUnaccountedPodsInAnyOrder) {
  test::FakeWorld world;
  for (const Resident& one : {pod("a", "2", 1), pod("b", "3", 2), pod("c", "4", 3)}) {
    Value bound = one.pod.body();
    bound.member("spec").set("nodeName", "w");
    world.put(std::move(bound));
  }
  Reads reads;
  const View view(world, reads);
  const Object node(Value::object({{"metadata", Value::object({{"name", "w"}})}}));
  publish({"1", "2"}, 6);  // a and c
  topology.fingerprint.clear();
  residents = residents_of(view, node, topology, "");
  ASSERT_EQ(count(), 2U);
  EXPECT_EQ(residents.active.back().pod.name(), "b");
}

}  // namespace
}  // namespace athanor::numa::residents_test
