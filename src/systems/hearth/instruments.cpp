// SPDX-License-Identifier: Apache-2.0
// Gauges from the FournosClusters, counters from probes, writes of the queue, and reconciles.
#include "systems/hearth/instruments.hpp"

#include <map>
#include <string>

#include "api/kueue.hpp"
#include "kube/text/json.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/probe.hpp"
#include "systems/hearth/settings.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kClusters = "hearth_clusters";
constexpr std::string_view kClusterState = "hearth_cluster_state";
constexpr std::string_view kCordoned = "hearth_cluster_cordoned";
constexpr std::string_view kFailuresInARow = "hearth_probe_failures_in_a_row";
constexpr std::string_view kGpus = "hearth_gpus";
constexpr std::string_view kProbeSeconds = "hearth_probe_duration_seconds";
constexpr std::string_view kProbeFailures = "hearth_probe_failures_total";
constexpr std::string_view kLockState = "hearth_lock_state";
constexpr std::string_view kLockExpires = "hearth_lock_expires_timestamp_seconds";
constexpr std::string_view kQueueWrites = "hearth_clusterqueue_writes_total";
constexpr std::string_view kReconcileSeconds = "hearth_reconcile_duration_seconds";
constexpr std::string_view kReconcileErrors = "hearth_reconcile_errors_total";

// From a nearby cluster to the timeout of a probe.
constexpr double kProbeBuckets[] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

constexpr MetricInfo kMetrics[] = {
    {.name = kClusters, .help = "FournosClusters by the state of their kubeconfig."},
    {.name = kClusterState, .help = "1 for the state of a cluster's kubeconfig."},
    {.name = kCordoned, .help = "1 if a cluster admits no new jobs, else 0."},
    {.name = kFailuresInARow, .help = "Probes of a cluster that failed since the last good one."},
    {.name = kGpus, .help = "GPUs of a cluster, as it last said."},
    {.name = kProbeSeconds,
     .help = "How long a probe of a cluster took.",
     .type = MetricType::Histogram,
     .buckets = kProbeBuckets},
    {.name = kProbeFailures,
     .help = "Probes of a cluster that failed.",
     .type = MetricType::Counter},
    {.name = kLockState, .help = "1 for the state that a cluster's lock is in."},
    {.name = kLockExpires, .help = "When a cluster's lock ends by itself."},
    {.name = kQueueWrites,
     .help = "Writes of the ClusterQueue: success, conflict, refused or error.",
     .type = MetricType::Counter},
    {.name = kReconcileSeconds,
     .help = "From a reconcile's beginning to the answer to its last write.",
     .type = MetricType::Histogram},
    {.name = kReconcileErrors,
     .help = "Reconciles that ended with an error.",
     .type = MetricType::Counter},
};

void measure_cluster(const api::FournosCluster& cluster, Samples& samples) {
  const std::string name(cluster.object.name());
  std::map<std::pair<std::string, std::string>, double> gpus;
  if (cluster.spec.hardware) {
    for (const api::ClusterGpu& gpu : cluster.spec.hardware->gpus) {
      gpus[{gpu.vendor, gpu.short_name}] += static_cast<double>(gpu.count.value_or(0));
    }
  }
  for (const auto& [type, count] : gpus) {
    samples.push_back(
        {.metric = kGpus,
         .labels = {{"cluster", name}, {"vendor", type.first}, {"short_name", type.second}},
         .value = count});
  }
  const std::string& state = cluster.status.kubeconfig_status;
  samples.push_back({.metric = kClusterState,
                     .labels = {{"cluster", name}, {"state", state.empty() ? "Unknown" : state}}});
  samples.push_back({.metric = kCordoned,
                     .labels = {{"cluster", name}},
                     .value = api::is_cordoned(cluster) ? 1.0 : 0.0});
  if (cluster.spec.hardware) {
    samples.push_back({.metric = kFailuresInARow,
                       .labels = {{"cluster", name}},
                       .value = static_cast<double>(cluster.spec.hardware->consecutive_failures)});
  }
  if (!cluster.status.lock_state.empty()) {
    samples.push_back({.metric = kLockState,
                       .labels = {{"cluster", name}, {"state", cluster.status.lock_state}}});
  }
  if (const auto end = read_time(cluster.status.lock_expires_at)) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(end->time_since_epoch());
    samples.push_back({.metric = kLockExpires,
                       .labels = {{"cluster", name}},
                       .value = static_cast<double>(seconds.count())});
  }
}

void measure(const View& view, Samples& samples) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  std::map<std::string, double, std::less<>> states;
  for (const std::string_view known :
       {state::kValid, state::kMissing, state::kInvalid, state::kUnreachable}) {
    states[std::string(known)] = 0;
  }
  for (const auto& cluster : view.list<api::FournosCluster>({.ns = settings.ns})) {
    const std::string& state = cluster.status.kubeconfig_status;
    states[state.empty() ? "Unknown" : state] += 1;
    measure_cluster(cluster, samples);
  }
  put_counts(kClusters, "kubeconfig_status", states, samples);
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind != &api::kFournosCluster || change.after != nullptr) {
    return;
  }
  const std::string name(change.before->name());
  for (const std::string_view metric : {kProbeSeconds, kProbeFailures}) {
    samples.push_back({.metric = metric, .labels = {{"cluster", name}}, .act = Sample::Act::Drop});
  }
}

void count_write(const WriteAnswered& answer, Samples& samples) {
  if (&answer.kind != &api::kueue::kClusterQueue || answer.op != queue_operator().name) {
    return;
  }
  const int code = answer.code;
  const std::string_view result = code == 0     ? "success"
                                  : code == 409 ? "conflict"
                                  : code < 500  ? "refused"
                                                : "error";
  // Every result has a series from the first write on: increase() sees the first refusal.
  for (const std::string_view known : {"success", "conflict", "refused", "error"}) {
    samples.push_back({.metric = kQueueWrites,
                       .labels = {{"result", std::string(known)}},
                       .value = known == result ? 1.0 : 0.0});
  }
}

void count_probe(const QuestionAnswered& answer, Samples& samples) {
  if (!answer.query.starts_with(kProbePrefix)) {
    return;
  }
  const auto question = json::parse(answer.query.substr(kProbePrefix.size()));
  const std::string cluster = question.ok() ? (*question)["cluster"].str() : std::string();
  if (cluster.empty()) {
    return;
  }
  put_seconds(kProbeSeconds, {{"cluster", cluster}}, answer.took, samples);
  samples.push_back({.metric = kProbeFailures,
                     .labels = {{"cluster", cluster}},
                     .value = answer.good ? 0.0 : 1.0});
}

void count_reconcile(const Reconciled& run, Samples& samples) {
  if (!is_one_of(hearth_operators(), run.op)) {
    return;
  }
  put_seconds(kReconcileSeconds, {}, run.took, samples);
  samples.push_back({.metric = kReconcileErrors, .value = run.code == 0 ? 0.0 : 1.0});
}

constexpr const Kind* kKinds[] = {&api::kFournosCluster};

}  // namespace

const Instruments& hearth_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kMetrics,
      .kinds = kKinds,
      .state = measure,
      .changed = count_change,
      .written = count_write,
      .answered = count_probe,
      .reconciled = count_reconcile,
  };
  return kInstruments;
}

}  // namespace athanor::hearth
