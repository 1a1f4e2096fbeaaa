// SPDX-License-Identifier: Apache-2.0
// Gauges from NodeResourceTopologies and the operators' objects, counters from their changes.
#include "systems/numa/scheduling/instruments.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/session.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kDirty = "numa_nrt_cache_dirty_nodes";
constexpr std::string_view kForeign = "numa_nrt_cache_foreign_nodes";
constexpr std::string_view kUpdates = "numa_nrt_updates_total";
constexpr std::string_view kRejections = "numa_node_rejections_total";
constexpr std::string_view kGeneration = "numa_nrt_cache_generation";
constexpr std::string_view kResyncs = "numa_nrt_resync_total";
constexpr std::string_view kFilterRejections = "numa_filter_rejections_total";
constexpr std::string_view kAge = "numa_nrt_age_seconds";
constexpr std::string_view kDegraded = "numa_degraded";

// Beginnings of the filter's refusals (docs/spec/numa.md 11.3, 11.8).
constexpr std::string_view kRefusals[] = {"cannot align ", "invalid node topology data",
                                          "no topology data",
                                          "eviction simulation in NRT is not possible"};

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
    {.name = kGeneration,
     .help = "Changes of NodeResourceTopologies whose amounts were taken over.",
     .type = MetricType::Counter},
    {.name = kResyncs,
     .help = "Comparisons of a changed NodeResourceTopology with its node's pods, by result.",
     .type = MetricType::Counter},
    {.name = kFilterRejections,
     .help = "Nodes that the filter refused, as conditions of pods tell, by reason.",
     .type = MetricType::Counter},
    {.name = kAge, .help = "Seconds since the node's NodeResourceTopology last changed."},
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

void count_topology(const ObjectChanged& change, Samples& samples) {
  const MetricLabels labels{{"node", std::string(change.after != nullptr ? change.after->name()
                                                                         : change.before->name())}};
  if (change.after == nullptr) {
    samples.push_back({.metric = kUpdates, .labels = labels, .act = Sample::Act::Drop});
    samples.push_back({.metric = kAge, .labels = labels, .act = Sample::Act::Drop});
  } else if (change.before == nullptr) {
    samples.push_back({.metric = kAge, .labels = labels, .act = Sample::Act::Mark});
  } else if (change.before->body() != change.after->body()) {
    samples.push_back({.metric = kUpdates, .labels = labels});
    samples.push_back({.metric = kAge, .labels = labels, .act = Sample::Act::Mark});
  }
}

// The filter's words in "0/3 nodes are available: 2 cannot align container, 1 node(s) ...".
void count_refusals(const std::string& message, Samples& samples) {
  const std::size_t colon = message.find(": ");
  if (colon == std::string::npos) {
    return;
  }
  for (const std::string_view clause : words_of(std::string_view(message).substr(colon + 2), ',')) {
    const std::string_view text = trimmed(clause);
    const std::size_t blank = text.find(' ');
    std::string_view reason = blank == std::string_view::npos ? "" : text.substr(blank + 1);
    while (reason.ends_with('.')) {
      reason.remove_suffix(1);
    }
    double nodes = 0;
    const bool ours = std::ranges::any_of(
        kRefusals, [&](std::string_view known) { return reason.starts_with(known); });
    if (ours && std::from_chars(text.data(), text.data() + blank, nodes).ec == std::errc()) {
      samples.push_back({.metric = kFilterRejections,
                         .labels = {{"reason", std::string(reason)}},
                         .value = nodes});
    }
  }
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind == &kTopologyKind) {
    return count_topology(change, samples);
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
  const auto message = [](const Object* pod) {
    return find_condition(pod->status()["conditions"], "PodScheduled")["message"].str();
  };
  if (const std::string now = message(change.after); now != message(change.before)) {
    count_refusals(now, samples);
  }
}

// Returns true if a changed object accounts its node's pods: upstream's resync asks once a period;
// here each change is checked.
void count_resync(const View& view, const ObjectChanged& change, Samples& samples) {
  if (&change.kind != &kTopologyKind || change.after == nullptr) {
    return;
  }
  const auto node = view.get(api::kNode, {"", std::string(change.after->name())});
  const NodeTopology topology = read_topology(change.after->body());
  const char* result = !node                                 ? "error"
                       : topology.fingerprint.empty()        ? "no_fingerprint"
                       : accounts_all(view, *node, topology) ? "match"
                                                             : "mismatch";
  samples.push_back({.metric = kResyncs, .labels = {{"result", result}}});
  if (std::string_view(result) == "match") {
    samples.push_back({.metric = kGeneration});
  }
}

constexpr const Kind* kKinds[] = {&kTopologyKind, &api::kPod, &api::kNode, &api::kDeployment,
                                  &api::kConfigMap};
constexpr const Kind* kOperatorKinds[] = {&kOperatorKind, &kSchedulerKind};

}  // namespace

const Instruments& scheduling_instruments() {
  static constexpr Instruments kInstruments{.metrics = kMetrics,
                                            .kinds = kKinds,
                                            .state = measure,
                                            .changed = count_change,
                                            .witnessed = count_resync};
  return kInstruments;
}

const Instruments& operator_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kOperatorMetrics, .kinds = kOperatorKinds, .state = measure_operators};
  return kInstruments;
}

}  // namespace athanor::numa
