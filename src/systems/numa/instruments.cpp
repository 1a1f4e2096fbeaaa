// SPDX-License-Identifier: Apache-2.0
// Gauges from NodeResourceTopologies and the operators' objects, counters from their changes.
#include "systems/numa/instruments.hpp"

#include <string>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/scheduling/session.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kDirty = "numa_nrt_cache_dirty_nodes";
constexpr std::string_view kForeign = "numa_nrt_cache_foreign_nodes";
constexpr std::string_view kUpdates = "numa_nrt_updates_total";
constexpr std::string_view kRejections = "numa_node_rejections_total";
constexpr std::string_view kDegraded = "numa_degraded";

constexpr MetricInfo kMetrics[] = {
    {.name = kDirty,
     .help = "Nodes whose NodeResourceTopology does not account all of their pods yet."},
    {.name = kForeign, .help = "Nodes whose zones are not used, for pods of other schedulers."},
    {.name = kUpdates,
     .help = "Changes of a node's NodeResourceTopology.",
     .type = MetricType::Counter},
    {.name = kRejections,
     .help = "Pods that their node rejected with TopologyAffinityError.",
     .type = MetricType::Counter},
};
constexpr MetricInfo kOperatorMetrics[] = {
    {.name = kDegraded, .help = "1 while the object has the condition Degraded."},
};

void measure_degraded(const View& view, const Kind& kind, Samples& samples) {
  for (const Object& object : view.list(kind)) {
    const bool degraded =
        find_condition(object.status()["conditions"], "Degraded")["status"].as_string() == "True";
    samples.push_back(
        {.metric = kDegraded,
         .labels = {{"kind", std::string(kind.name)}, {"name", std::string(object.name())}},
         .value = degraded ? 1.0 : 0.0});
  }
}

void measure(const View& view, Samples& samples) {
  double dirty = 0;
  double foreign = 0;
  const auto profile = profile_of(view);
  for (const Object& object : view.list(kTopologyKind)) {
    const auto node = view.get(api::kNode, {"", std::string(object.name())});
    const NodeTopology topology = read_topology(object.body());
    if (!node || topology.fingerprint.empty()) {
      continue;
    }
    dirty += accounts_all(view, *node, topology) ? 0 : 1;
    foreign += profile && !believed(view, *node, *profile, {}).fresh ? 1 : 0;
  }
  samples.push_back({.metric = kDirty, .value = dirty});
  samples.push_back({.metric = kForeign, .value = foreign});
}

void measure_operators(const View& view, Samples& samples) {
  measure_degraded(view, kOperatorKind, samples);
  measure_degraded(view, kSchedulerKind, samples);
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind == &kTopologyKind) {
    const std::string node(change.after != nullptr ? change.after->name() : change.before->name());
    if (change.after == nullptr) {
      samples.push_back({.metric = kUpdates, .labels = {{"node", node}}, .act = Sample::Act::Drop});
    } else if (change.before != nullptr && change.before->body() != change.after->body()) {
      samples.push_back({.metric = kUpdates, .labels = {{"node", node}}});
    }
    return;
  }
  if (&change.kind != &api::kPod || change.before == nullptr || change.after == nullptr) {
    return;
  }
  const auto rejected = [](const Object* pod) {
    return pod->status()["reason"].as_string() == "TopologyAffinityError";
  };
  if (rejected(change.after) && !rejected(change.before)) {
    samples.push_back({.metric = kRejections});
  }
}

constexpr const Kind* kKinds[] = {&kTopologyKind, &api::kPod, &api::kNode, &api::kDeployment,
                                  &api::kConfigMap};
constexpr const Kind* kOperatorKinds[] = {&kOperatorKind, &kSchedulerKind};

}  // namespace

const Instruments& scheduling_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kMetrics, .kinds = kKinds, .state = measure, .changed = count_change};
  return kInstruments;
}

const Instruments& operator_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kOperatorMetrics, .kinds = kOperatorKinds, .state = measure_operators};
  return kInstruments;
}

}  // namespace athanor::numa
