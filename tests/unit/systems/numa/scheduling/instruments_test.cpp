// SPDX-License-Identifier: Apache-2.0
// Metrics of zones (docs/spec/numa.md 14).
#include "systems/numa/scheduling/instruments.hpp"

#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"

namespace athanor::numa::instruments_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

double value_of(const Samples& samples, std::string_view metric) {
  double sum = -1;
  for (const Sample& sample : samples) {
    if (sample.metric == metric) {
      sum = sum < 0 ? sample.value : sum + sample.value;
    }
  }
  return sum;
}

class NumaInstruments : public ::testing::Test {
 protected:
  NumaInstruments() {
    world.configure("numa", from_yaml("{extenderProfile: zones}"));
    world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: w}}"));
  }
  void publish(const std::vector<Key>& pods) {
    world.put(from_yaml(
        "{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, metadata: {name: "
        "w}, attributes: [{name: topologyManagerPolicy, value: single-numa-node}, {name: "
        "nodeTopologyPodsFingerprint, value: " +
        fingerprint_of(std::span<const Key>(pods)) +
        "}, {name: nodeTopologyPodsFingerprintMethod, value: all}], zones: [{name: node-0, type: "
        "Node, resources: [{name: cpu, capacity: '8', allocatable: "
        "'8', available: '8'}, {name: memory, capacity: 16Gi, allocatable: 16Gi, available: "
        "16Gi}]}]}"));
  }
  Samples state(const Instruments& instruments) {
    Reads reads;
    Samples samples;
    instruments.state(View(world, reads), samples);
    return samples;
  }
  test::FakeWorld world{};
};

TEST_F(NumaInstruments, TellWhichNodesAreBehind) {
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: "
                "{nodeName: w, schedulerName: other, containers: [{name: c, resources: {requests: "
                "{cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}]}}"));
  publish({});
  EXPECT_EQ(value_of(state(scheduling_instruments()), "numa_nrt_cache_dirty_nodes"), 1);
  EXPECT_EQ(value_of(state(scheduling_instruments()), "numa_nrt_cache_foreign_nodes"), 1);
  publish({{"ns", "p"}});
  EXPECT_EQ(value_of(state(scheduling_instruments()), "numa_nrt_cache_dirty_nodes"), 0);
  EXPECT_EQ(value_of(state(scheduling_instruments()), "numa_nrt_cache_foreign_nodes"), 0);
}

TEST_F(NumaInstruments, CountUpdatesAndRejections) {
  publish({});
  const Object before = world.must(kTopologyKind, {"", "w"});
  publish({{"ns", "p"}});
  const Object after = world.must(kTopologyKind, {"", "w"});
  Samples samples;
  scheduling_instruments().tally(
      ObjectChanged{.kind = kTopologyKind, .before = &before, .after = &after}, samples);
  EXPECT_EQ(value_of(samples, "numa_nrt_updates_total"), 1);
  const Object pod(from_yaml("{metadata: {name: p}, status: {phase: Pending}}"));
  const Object rejected(
      from_yaml("{metadata: {name: p}, status: {phase: Failed, reason: TopologyAffinityError}}"));
  scheduling_instruments().tally(
      ObjectChanged{.kind = api::kPod, .before = &pod, .after = &rejected}, samples);
  EXPECT_EQ(value_of(samples, "numa_node_rejections_total"), 1);
}

TEST_F(NumaInstruments, CountReasonsOfFilterRefusals) {
  const auto pod = [](const std::string& message) {
    return Object(
        from_yaml("{metadata: {name: p}, status: {conditions: [{type: PodScheduled, "
                  "status: 'False', message: '" +
                  message + "'}]}}"));
  };
  const Object before = pod("");
  const Object after =
      pod("0/7 nodes are available: 2 cannot align container, 1 node(s) had taints, 3 invalid node "
          "topology data, 1 Insufficient cpu.");
  Samples samples;
  scheduling_instruments().tally(
      ObjectChanged{.kind = api::kPod, .before = &before, .after = &after}, samples);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].labels, (MetricLabels{{"reason", "cannot align container"}}));
  EXPECT_EQ(samples[0].value, 2);
  EXPECT_EQ(samples[1].labels, (MetricLabels{{"reason", "invalid node topology data"}}));
  EXPECT_EQ(samples[1].value, 3);
  Samples again;
  scheduling_instruments().tally(
      ObjectChanged{.kind = api::kPod, .before = &after, .after = &after}, again);
  EXPECT_TRUE(again.empty());
}

TEST_F(NumaInstruments, CompareAChangedObjectWithItsPods) {
  const auto result = [&] {
    const Object object = world.must(kTopologyKind, {"", "w"});
    Reads reads;
    Samples samples;
    scheduling_instruments().witnessed(
        View(world, reads), ObjectChanged{.kind = kTopologyKind, .after = &object}, samples);
    return samples.front().labels.front().second + (samples.size() > 1 ? " taken" : "");
  };
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: "
                "{nodeName: w, containers: [{name: c}]}}"));
  publish({{"ns", "p"}});
  EXPECT_EQ(result(), "match taken");
  publish({});
  EXPECT_EQ(result(), "mismatch");
  world.put(
      from_yaml("{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, metadata: "
                "{name: w}, zones: []}"));
  EXPECT_EQ(result(), "no_fingerprint");
}

TEST_F(NumaInstruments, AgesBeginWithTheLastChange) {
  publish({});
  const Object before = world.must(kTopologyKind, {"", "w"});
  publish({{"ns", "p"}});
  const Object after = world.must(kTopologyKind, {"", "w"});
  const auto act = [&](const Object* from, const Object* to) -> std::optional<Sample::Act> {
    Samples samples;
    scheduling_instruments().tally(
        ObjectChanged{.kind = kTopologyKind, .before = from, .after = to}, samples);
    for (const Sample& sample : samples) {
      if (sample.metric == "numa_nrt_age_seconds") {
        return sample.act;
      }
    }
    return std::nullopt;
  };
  EXPECT_EQ(act(nullptr, &before), Sample::Act::Mark);
  EXPECT_EQ(act(&before, &after), Sample::Act::Mark);
  EXPECT_EQ(act(&after, &after), std::nullopt);
  EXPECT_EQ(act(&after, nullptr), Sample::Act::Drop);
}

TEST_F(NumaInstruments, TellWhichOperatorsAreDegraded) {
  world.put(
      from_yaml("{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesOperator, metadata: "
                "{name: a}, "
                "status: {conditions: [{type: Degraded, status: 'True'}]}}"));
  world.put(
      from_yaml("{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesScheduler, "
                "metadata: {name: b}}"));
  const Samples samples = state(operator_instruments());
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(value_of(samples, "numa_degraded"), 1);
}

}  // namespace
}  // namespace athanor::numa::instruments_test
