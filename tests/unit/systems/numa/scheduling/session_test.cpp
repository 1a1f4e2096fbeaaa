// SPDX-License-Identifier: Apache-2.0
// What the lab's scheduler believes of a node, and what emulated exporters publish.
#include "systems/numa/scheduling/session.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "unit/systems/numa/lab_node.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::session_test {
namespace {

using testing::make_pod;
using testing::make_request;

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class NumaSession : public ::testing::Test {
 protected:
  NumaSession() {
    Settings settings;
    settings.emulated = true;
    world.configure("numa", to_value(settings));
    const Value zones = from_yaml(
        "{policy: single-numa-node, zones: [{cpus: 8, memory: 16Gi}, {cpus: 12, memory: 16Gi}]}");
    Value node = from_yaml(
        "{apiVersion: v1, kind: Node, metadata: {name: w}, status: {allocatable: "
        "{cpu: '20', memory: 32Gi}}}");
    node.set_path({"metadata", "annotations"}, annotations_of(zones));
    world.put(node);
    world.put(
        from_yaml(R"({apiVersion: v1, kind: Pod, metadata: {name: rte, namespace: numaresources,
      labels: {name: resource-topology}, annotations: {athanor.dev/emulate: pause}},
      spec: {nodeName: w, containers: [{name: resource-topology-exporter, args: [--pods-fingerprint,
      --pods-fingerprint-method=with-exclusive-resources, --sleep-interval=10s]}]},
      status: {phase: Running, conditions: [{type: ContainersReady, status: 'True'}]}})"));
    publish();
  }
  void publish() { world.settle({&exporter_emulation()}); }
  // A Guaranteed pod on the node, not admitted yet.
  Object bind(const std::string& name, const std::string& cpu,
              const std::string& scheduler = "topo") {
    Value pod = make_pod({.containers = {cpu + "/1Gi"}}, name).body();
    pod.member("spec").set("nodeName", "w").set("schedulerName", scheduler);
    pod.set_path({"status", "phase"}, "Pending");
    pod.set_path(
        {"status", "conditions"},
        Value::list({Value::object(
            {{"type", "PodScheduled"},
             {"status", "True"},
             {"lastTransitionTime", "2026-01-05T00:00:0" + std::to_string(bound++) + "Z"}})}));
    return world.put(pod);
  }
  // What the node's kubelet does about it.
  NodeAdmission admit(const Object& pod) {
    Reads reads;
    const View view(world, reads);
    NodeAdmission admission =
        numa_node_hooks().admit(view, pod, world.must(api::kNode, {"", "w"}), world.now);
    EXPECT_TRUE(world.apply(admission.steps).ok());
    return admission;
  }
  std::string cpus(const std::vector<PodRequest>& placed = {}) {
    Reads reads;
    const View view(world, reads);
    const NodeView known = believed(view, world.must(api::kNode, {"", "w"}), profile,
                                    {.placed = placed, .now = world.now});
    if (!known.fresh || !known.topology) {
      return known.fresh ? "nothing" : "stale";
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

TEST_F(NumaSession, CountsPodsThatExporterHasNotSeen) {
  EXPECT_EQ(cpus(), "8 12");
  EXPECT_EQ(cpus({make_request({.containers = {"5/1Gi"}})}), "3 7");
  const Object five = bind("five", "5");
  EXPECT_EQ(cpus(), "3 7");
  EXPECT_EQ(admit(five).answer, NodeAdmission::Answer::Ready);
  EXPECT_EQ(cpus(), "3 7");  // admitted, not published
  publish();
  EXPECT_EQ(cpus(), "3 12");
  const Object four = bind("four", "4");
  EXPECT_EQ(cpus(), "0 8");
  admit(four);
  publish();
  EXPECT_EQ(cpus(), "3 8");
  world.remove(api::kPod, {"ns", "five"});
  publish();
  EXPECT_EQ(cpus(), "8 8");
}

TEST_F(NumaSession, BlocksUntilPodsOfOtherSchedulersArePublished) {  // N13, C5
  const Object foreign = bind("foreign", "2", "default-scheduler");
  EXPECT_EQ(cpus(), "stale");
  admit(foreign);
  publish();
  EXPECT_EQ(cpus(), "6 12");
}

// What the topology updater of Node Feature Discovery writes: a fingerprint of all pods, without a
// method.
TEST_F(NumaSession, ReadsTheObjectsOfNodeFeatureDiscovery) {
  bind("five", "5");
  Value shared = make_pod({.containers = {"1/1Gi"}, .burstable = true}, "shared").body();
  shared.member("spec").set("nodeName", "w").set("schedulerName", "other");
  world.put(shared);
  Value body = from_yaml(R"({apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology,
    metadata: {name: w}, topologyPolicies: [SingleNUMANodeContainerLevel], attributes: [
      {name: topologyManagerScope, value: container},
      {name: topologyManagerPolicy, value: single-numa-node}], zones: [
    {name: node-0, type: Node, costs: [{name: node-0, value: 10}, {name: node-1, value: 21}],
     resources: [{name: cpu, capacity: '8', allocatable: '8', available: '3'}]},
    {name: node-1, type: Node, costs: [{name: node-0, value: 21}, {name: node-1, value: 10}],
     resources: [{name: cpu, capacity: '12', allocatable: '12', available: '12'}]}]})");
  std::vector<Key> counted;
  for (const Object& pod : world.list(api::kPod, {.index = "node", .index_value = "w"})) {
    counted.push_back(pod.key());
  }
  body.member("attributes")
      .push_back(Value::object({{"name", "nodeTopologyPodsFingerprint"},
                                {"value", fingerprint_of(std::span<const Key>(counted))}}));
  world.put(body);
  EXPECT_EQ(counted.size(), 3U);
  EXPECT_EQ(cpus(), "3 12");
  bind("four", "4");
  EXPECT_EQ(cpus(), "0 8");
}

TEST_F(NumaSession, WithoutACacheTheObjectIsBelieved) {
  profile.cache = Cache::Passthrough;
  bind("five", "5");
  EXPECT_EQ(cpus(), "8 12");
  world.remove(kTopologyKind, {"", "w"});
  EXPECT_EQ(cpus(), "nothing");
}

TEST_F(NumaSession, RejectsPodsThatNoZoneHolds) {  // N3
  const NodeAdmission admission = admit(bind("large", "14"));
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(admission.reason, "TopologyAffinityError");
  EXPECT_EQ(admission.message,
            "Pod was rejected: Resources cannot be allocated with Topology locality");
}

// docs/spec/numa.md 16.5: pods that need no zone of their own are refused by the node's sums.
TEST_F(NumaSession, RejectsPodsBeyondTheNodesSums) {
  const auto burstable = [&](const std::string& name, const char* requests, const char* phase) {
    return world.put(*yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                                  ", namespace: ns}, spec: {nodeName: w, containers: [{name: c, "
                                  "resources: {requests: " +
                                  requests + "}}]}, status: {phase: " + phase + "}}"));
  };
  EXPECT_EQ(admit(burstable("small", "{cpu: 15}", "Pending")).answer, NodeAdmission::Answer::Ready);
  burstable("running", "{cpu: 15}", "Running");
  const NodeAdmission refused = admit(burstable("next", "{cpu: 5500m}", "Pending"));
  EXPECT_EQ(refused.answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(refused.reason, "OutOfcpu");
  EXPECT_EQ(refused.message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 5500, used: "
            "15000, capacity: 20000");
  EXPECT_EQ(admit(burstable("wide", "{memory: 1Ti}", "Pending")).reason, "OutOfmemory");
  EXPECT_EQ(admit(burstable("none", "{}", "Pending")).answer, NodeAdmission::Answer::Ready);
}

TEST_F(NumaSession, TheNodeRejectsDevicesThatItHasNot) {
  Value node = world.must(api::kNode, {"", "w"}).body();
  node.set_path(
      {"metadata", "annotations"},
      annotations_of(from_yaml("{policy: best-effort, devices: {vendor.io/fpga: 1}, zones: "
                               "[{cpus: 8, memory: 16Gi, devices: {vendor.io/nic: 2}}]}")));
  world.put(node);
  const auto asking = [&](const char* limits) {
    return admit(world.put(from_yaml(
        std::string("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: u}, spec: "
                    "{nodeName: w, containers: [{name: c, resources: {limits: ") +
        limits + "}}]}, status: {phase: Pending}}")));
  };
  const NodeAdmission refused = asking("{vendor.io/nic: 3}");
  EXPECT_EQ(refused.answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(refused.reason, "") << "UnexpectedAdmissionError";
  EXPECT_EQ(refused.message,
            "Allocate failed due to requested number of devices unavailable for vendor.io/nic. "
            "Requested: 3, Available: 2, which is unexpected");
  EXPECT_EQ(asking("{vendor.io/fpga: 2}").answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(asking("{other.io/thing: 2}").answer, NodeAdmission::Answer::Ready)
      << "of another device plugin";
  EXPECT_EQ(asking("{vendor.io/nic: 2, vendor.io/fpga: 1}").answer, NodeAdmission::Answer::Ready);
}

TEST_F(NumaSession, AssignsDistinctCpusToConcurrentPods) {
  const Object first = bind("first", "8");
  const Object second = bind("second", "8");
  Reads reads;
  const View view(world, reads);
  const Object node = world.must(api::kNode, {"", "w"});
  NodeAdmission one = numa_node_hooks().admit(view, first, node, world.now);
  NodeAdmission two = numa_node_hooks().admit(view, second, node, world.now);
  EXPECT_TRUE(world.apply(one.steps).ok());
  EXPECT_FALSE(world.apply(two.steps).ok());  // decided on the state before: looks again
  EXPECT_EQ(admit(second).answer, NodeAdmission::Answer::Ready);
  publish();
  EXPECT_EQ(cpus(), "0 4");
}

TEST_F(NumaSession, PublishesAndReportsReady) {
  const Value nrt = world.must(kTopologyKind, {"", "w"}).body();
  EXPECT_EQ(nrt["attributes"][0]["name"].str(), "nodeTopologyPodsFingerprint");
  EXPECT_EQ(nrt["attributes"][0]["value"].str(), "pfp0v001ef46db3751d8e999");
  EXPECT_EQ(nrt["attributes"][4]["value"].str(), "single-numa-node");
  EXPECT_EQ(nrt["zones"][0]["costs"][1]["value"].as_int(), 21);
  EXPECT_EQ(
      world.condition(api::kPod, {"numaresources", "rte"}, "NodeTopologyUpdated")["status"].str(),
      "True");
  // Paused: nothing is written any more (A8).
  world.update(api::kPod, {"numaresources", "rte"}, [](Value& pod) {
    pod.member("spec").member("containers").item(0).member("args").push_back("--no-publish");
  });
  admit(bind("five", "5"));
  publish();
  EXPECT_EQ(world.must(kTopologyKind, {"", "w"}).body()["zones"], nrt["zones"]);
}

// 9.4, 9.3: the exporter's configuration is the one that its pod has mounted.
TEST_F(NumaSession, FollowsTheMountedConfiguration) {
  world.put(
      from_yaml(R"({apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: numaresources},
    data: {config.yaml: "podExclude: [{namespacePattern: ns, namePattern: quiet-*}]\nresourceExclude: {'*': [memory]}"}})"));
  world.update(api::kPod, {"numaresources", "rte"}, [](Value& pod) {
    pod.member("spec").set(
        "volumes", from_yaml("[{name: rte-config-volume, configMap: {name: c, optional: true}}]"));
  });
  admit(bind("quiet-one", "5"));
  publish();
  Value nrt = world.must(kTopologyKind, {"", "w"}).body();
  EXPECT_EQ(nrt["attributes"][0]["value"].str(), "pfp0v001ef46db3751d8e999");  // nobody counts
  EXPECT_EQ(nrt["zones"][0]["resources"].size(), 1U);                          // cpu alone
  EXPECT_EQ(nrt["zones"][0]["resources"][0]["available"].str(), "8");
  // What a process could not start with keeps the pod from being ready, and says why.
  world.update(api::kConfigMap, {"numaresources", "c"}, [](Value& config) {
    config.set_path({"data", "config.yaml"}, "podExclude: everything");
  });
  publish();
  const Value condition =
      world.condition(api::kPod, {"numaresources", "rte"}, "NodeTopologyUpdated");
  EXPECT_EQ(condition["status"].str(), "False");
  EXPECT_EQ(condition["message"].str(),
            "/etc/resource-topology-exporter/config.yaml: podExclude: must be a list of "
            "{namespacePattern, namePattern}");
}

// 11.8: what an eviction would give back, by the zone of each victim.
TEST_F(NumaSession, SimulatesEvictionsByZone) {
  const Object first = bind("first", "8");
  admit(first);
  publish();
  const Object second = bind("second", "12");
  admit(second);
  publish();
  EXPECT_EQ(cpus(), "0 0");
  world.put(from_yaml(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: secondary-scheduler, namespace: "
      "numaresources}, status: {availableReplicas: 1}}"));
  const auto configure = [&](const std::string& more) {
    world.put(from_yaml(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: topo-aware-scheduler-config, "
        "namespace: numaresources}, data: {config.yaml: '{profiles: [{schedulerName: topo, "
        "pluginConfig: [{args: {cacheResyncPeriodSeconds: 5, scoringStrategy: {type: "
        "LeastAllocated}" +
        more + "}}]}]}'}}"));
  };
  const auto verdict = [&](const std::string& cpu, std::vector<std::string_view> leaving) {
    Reads reads;
    const View view(world, reads);
    const auto session = numa_scheduling().begin(view, world.now);
    const auto refusal = session->filter(make_pod({.containers = {cpu + "/1Gi"}}, "high"),
                                         world.must(api::kNode, {"", "w"}), leaving);
    return refusal ? refusal->reason : std::string("fits");
  };
  configure(", preemptionMode: Enabled");
  EXPECT_EQ(verdict("8", {}), "cannot align container");
  EXPECT_EQ(verdict("8", {"u-first"}), "fits");
  EXPECT_EQ(verdict("9", {"u-first"}), "cannot align container");
  EXPECT_EQ(verdict("9", {"u-second"}), "fits");
  EXPECT_EQ(verdict("13", {"u-first", "u-second"}), "cannot align container");  // P3
  configure("");
  EXPECT_EQ(verdict("8", {"u-first"}), "cannot align container");  // the mode is off
  // Nothing is simulated for a profile that keeps no cache.
  configure(", preemptionMode: Enabled, discardReservedNodes: true");
  EXPECT_EQ(verdict("8", {"u-first"}), "cannot align container");
  configure(", preemptionMode: Enabled");
  world.update(api::kConfigMap, {"numaresources", "topo-aware-scheduler-config"},
               [](Value& config) {
                 std::string text = config["data"]["config.yaml"].str();
                 text.replace(text.find("Seconds: 5"), 10, "Seconds: 0");
                 config.set_path({"data", "config.yaml"}, text);
               });
  EXPECT_EQ(verdict("8", {"u-first"}), "cannot align container");
}

TEST_F(NumaSession, FollowsTheArgumentsOfTheCache) {  // 11.1
  bind("foreign", "2", "default-scheduler");
  profile.foreign = ForeignPods::None;
  EXPECT_EQ(cpus(), "6 10");
  profile.foreign = ForeignPods::All;
  EXPECT_EQ(cpus(), "stale");
  world.remove(api::kPod, {"ns", "foreign"});
  profile.cache = Cache::DiscardReserved;
  EXPECT_EQ(cpus(), "8 12");
  EXPECT_EQ(cpus({make_request({.containers = {"5/1Gi"}})}), "stale");
  const auto read = read_scheduler_config(
      "{profiles: [{schedulerName: topo, pluginConfig: [{args: {cacheResyncPeriodSeconds: 5, "
      "discardReservedNodes: true, scoringStrategy: {type: LeastAllocated}, cache: "
      "{foreignPodsDetect: None, resyncMethod: OnlyExclusiveResources, trustUnfingerprinted: "
      "true}}}]}]}");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->cache, Cache::DiscardReserved);
  EXPECT_TRUE(read->trust_unfingerprinted);
  EXPECT_EQ(read->foreign, ForeignPods::None);
  EXPECT_EQ(read->resync, ResyncMethod::OnlyExclusiveResources);
}

TEST(NumaSchedulerConfig, NamesInvalidArguments) {  // 11.1
  const auto why = [](const std::string& args) {
    const auto read = read_scheduler_config(
        "{profiles: [{schedulerName: topo, pluginConfig: [{args: {" + args + "}}]}]}");
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(why("scoringStrategy: {type: Random}"), "invalid ScoringStrategyType: Random");
  EXPECT_EQ(why("preemptionMode: Maybe"), "invalid PreemptionMode: Maybe");
  EXPECT_EQ(why("preemptionMode: Disabled"), "");
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(read_scheduler_config("{profiles: []}").error().message,
            "profiles[0].schedulerName is required");
}

TEST_F(NumaSession, RefusesNodesWithoutTopologyWhereAsked) {  // 17, row 2; N11 without
  world.remove(kTopologyKind, {"", "w"});
  world.put(from_yaml(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: secondary-scheduler, namespace: "
      "numaresources}, status: {availableReplicas: 1}}"));
  for (const bool required : {true, false}) {
    world.put(from_yaml(
        std::string("{apiVersion: v1, kind: ConfigMap, metadata: {name: "
                    "topo-aware-scheduler-config, namespace: numaresources}, data: {config.yaml: "
                    "'{profiles: [{schedulerName: topo, pluginConfig: [{args: {scoringStrategy: "
                    "{type: LeastAllocated}, requireTopology: ") +
        (required ? "true" : "false") + "}}]}]}'}}"));
    Reads reads;
    const View view(world, reads);
    const auto session = numa_scheduling().begin(view, world.now);
    const auto refusal =
        session->filter(make_pod({.containers = {"2/1Gi"}}), world.must(api::kNode, {"", "w"}), {});
    EXPECT_EQ(refusal.has_value(), required);
    EXPECT_EQ(refusal ? refusal->reason : "no topology data", "no topology data");
  }
}

}  // namespace
}  // namespace athanor::numa::session_test
