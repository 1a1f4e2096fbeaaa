// SPDX-License-Identifier: Apache-2.0
// Counters from the phases that AppWrappers enter, gauges of those that there are.
#include "systems/appwrapper/instruments.hpp"

#include <map>
#include <string>

#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/operators.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kTransitions = "appwrapper_phase_total";
constexpr std::string_view kPhaseSeconds = "appwrapper_phase_seconds";
constexpr std::string_view kResets = "appwrapper_resets_total";
constexpr std::string_view kFailures = "appwrapper_failures_total";
constexpr std::string_view kActive = "appwrapper_active";
constexpr std::string_view kReconciles = "controller_runtime_reconcile_total";
constexpr std::string_view kReconcileSeconds = "controller_runtime_reconcile_time_seconds";
constexpr std::string_view kReconcileErrors = "controller_runtime_reconcile_errors_total";

// From Resuming, which is left at once, to a run of a day.
constexpr double kPhaseBuckets[] = {0.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

constexpr MetricInfo kMetrics[] = {
    {.name = kTransitions, .help = "Phases that AppWrappers entered.", .type = MetricType::Counter},
    {.name = kPhaseSeconds,
     .help = "How long AppWrappers were in the phase that they left.",
     .type = MetricType::Histogram,
     .buckets = kPhaseBuckets},
    {.name = kResets,
     .help = "Resets of AppWrappers, by what was unhealthy.",
     .type = MetricType::Counter},
    {.name = kFailures,
     .help = "AppWrappers that failed, by what was unhealthy.",
     .type = MetricType::Counter},
    {.name = kActive, .help = "AppWrappers that there are, by phase."},
    {.name = kReconciles,
     .help = "Reconciles by controller and result.",
     .type = MetricType::Counter},
    {.name = kReconcileSeconds,
     .help = "From a reconcile's beginning to the answer to its last write.",
     .type = MetricType::Histogram},
    {.name = kReconcileErrors,
     .help = "Reconciles that ended with an error, by controller.",
     .type = MetricType::Counter},
};

std::string_view phase_of(const Object* app) {
  return app == nullptr ? std::string_view() : app->status()["phase"].as_string();
}

MetricLabels labels_of(const Object& app, std::string_view phase) {
  return {{"namespace", std::string(app.ns())}, {"phase", std::string(phase)}};
}

void measure(const View& view, Samples& samples) {
  std::map<std::pair<std::string, std::string>, double> counts;
  for (const Object& app : view.list(kAppWrapper)) {
    if (const std::string_view phase = phase_of(&app); !phase.empty()) {
      counts[{std::string(app.ns()), std::string(phase)}] += 1;
    }
  }
  for (const auto& [place, count] : counts) {
    samples.push_back({.metric = kActive,
                       .labels = {{"namespace", place.first}, {"phase", place.second}},
                       .value = count});
  }
}

void tally_time(const ObjectChanged& change, Samples& samples) {
  const std::string uid((change.after != nullptr ? change.after : change.before)->uid());
  const std::string_view phase = phase_of(change.after);
  if (change.after == nullptr) {
    samples.push_back({.metric = kPhaseSeconds, .act = Sample::Act::Leave, .key = uid});
  } else if (phase != phase_of(change.before)) {
    samples.push_back({.metric = kPhaseSeconds,
                       .labels = labels_of(*change.after, phase),
                       .act = change.before == nullptr ? Sample::Act::Begin : Sample::Act::Enter,
                       .key = uid});
  }
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind != &kAppWrapper) {
    return;
  }
  tally_time(change, samples);
  const std::string_view phase = phase_of(change.after);
  if (change.before == nullptr || change.after == nullptr || phase.empty() ||
      phase == phase_of(change.before) || phase == phase::kTerminating) {
    return;
  }
  samples.push_back({.metric = kTransitions, .labels = labels_of(*change.after, phase)});
  if (phase == phase::kResetting || phase == phase::kFailed) {
    const Value& unhealthy =
        find_condition(change.after->status()["conditions"], condition::kUnhealthy);
    samples.push_back({.metric = phase == phase::kFailed ? kFailures : kResets,
                       .labels = {{"namespace", std::string(change.after->ns())},
                                  {"reason", unhealthy["reason"].str()}}});
  }
}

void count_reconcile(const Reconciled& run, Samples& samples) {
  const bool monitors_nodes =
      run.op == node_monitor_operator().name || run.op == slack_queue_operator().name;
  if (run.op != appwrapper_operator().name && !monitors_nodes) {
    return;
  }
  // The names that upstream's controllers have.
  const std::string controller = monitors_nodes ? "NodeMonitor" : "AppWrapper";
  put_seconds(kReconcileSeconds, {{"controller", controller}}, run.took, samples);
  samples.push_back(
      {.metric = kReconciles,
       .labels = {{"controller", controller}, {"result", run.code == 0 ? "success" : "error"}}});
  if (run.code != 0) {
    samples.push_back({.metric = kReconcileErrors, .labels = {{"controller", controller}}});
  }
}

constexpr const Kind* kMeasuredKinds[] = {&kAppWrapper};

}  // namespace

const Instruments& appwrapper_instruments() {
  static constexpr Instruments kInstruments{.metrics = kMetrics,
                                            .kinds = kMeasuredKinds,
                                            .state = measure,
                                            .changed = count_change,
                                            .reconciled = count_reconcile};
  return kInstruments;
}

}  // namespace athanor::appwrapper
