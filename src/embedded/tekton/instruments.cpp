// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/instruments.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/value/condition.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kRunSeconds = "tekton_pipelines_controller_pipelinerun_duration_seconds";
constexpr std::string_view kMemberSeconds =
    "tekton_pipelines_controller_pipelinerun_taskrun_duration_seconds";
constexpr std::string_view kTaskSeconds = "tekton_pipelines_controller_taskrun_duration_seconds";
constexpr std::string_view kRuns = "tekton_pipelines_controller_pipelinerun_total";
constexpr std::string_view kTaskRuns = "tekton_pipelines_controller_taskrun_total";
constexpr std::string_view kRunningRuns = "tekton_pipelines_controller_running_pipelineruns";
constexpr std::string_view kRunningTaskRuns = "tekton_pipelines_controller_running_taskruns";
constexpr std::string_view kOnPipeline =
    "tekton_pipelines_controller_running_pipelineruns_waiting_on_pipeline_resolution";
constexpr std::string_view kOnTask =
    "tekton_pipelines_controller_running_pipelineruns_waiting_on_task_resolution";
constexpr std::string_view kTaskRunOnTask =
    "tekton_pipelines_controller_running_taskruns_waiting_on_task_resolution_count";
constexpr std::string_view kByQuota =
    "tekton_pipelines_controller_running_taskruns_throttled_by_quota";
constexpr std::string_view kByNode =
    "tekton_pipelines_controller_running_taskruns_throttled_by_node";
constexpr std::string_view kPodLatency =
    "tekton_pipelines_controller_taskruns_pod_latency_milliseconds";

// Tekton's own.
constexpr double kBuckets[] = {10, 30, 60, 300, 900, 1800, 3600, 5400, 10800, 21600, 43200, 86400};

constexpr MetricInfo kMetrics[] = {
    {.name = kRunSeconds,
     .help = "Durations of PipelineRuns.",
     .type = MetricType::Histogram,
     .buckets = kBuckets},
    {.name = kMemberSeconds,
     .help = "Durations of TaskRuns of PipelineRuns.",
     .type = MetricType::Histogram,
     .buckets = kBuckets},
    {.name = kTaskSeconds,
     .help = "Durations of other TaskRuns.",
     .type = MetricType::Histogram,
     .buckets = kBuckets},
    {.name = kRuns, .help = "PipelineRuns that ended.", .type = MetricType::Counter},
    {.name = kTaskRuns, .help = "TaskRuns that ended.", .type = MetricType::Counter},
    {.name = kRunningRuns, .help = "PipelineRuns that run."},
    {.name = kRunningTaskRuns, .help = "TaskRuns that run."},
    {.name = kOnPipeline, .help = "PipelineRuns that wait for their Pipeline's definition."},
    {.name = kOnTask, .help = "PipelineRuns that wait for a Task's definition."},
    {.name = kTaskRunOnTask, .help = "TaskRuns that wait for their Task's definition."},
    {.name = kByQuota, .help = "TaskRuns whose pods a quota refuses, by namespace."},
    {.name = kByNode, .help = "TaskRuns whose pods fit on no node, by namespace."},
    {.name = kPodLatency, .help = "Time from a pod's creation to its placement on a node."},
};

std::string status_of(const Object& run) {
  const Value& condition = succeeded(run);
  const std::string_view reason = condition["reason"].as_string();
  if (condition["status"].as_string() == "True") {
    return "success";
  }
  return reason == "Cancelled" || reason == "TaskRunCancelled" ? "cancelled" : "failed";
}

std::string label_or(const Object& run, std::string_view label, std::string_view fallback) {
  const std::string_view value = run.label(label);
  return std::string(value.empty() ? fallback : value);
}

Duration duration_of_run(const Object& run) {
  const auto begin = time_of(run.status()["startTime"]);
  const auto end = time_of(run.status()["completionTime"]);
  return begin && end && *end > *begin ? *end - *begin : Duration::zero();
}

void count_run(const Object& run, Samples& samples) {
  const std::string status = status_of(run);
  samples.push_back({.metric = kRuns, .labels = {{"status", status}}});
  put_seconds(kRunSeconds,
              {{"pipeline", label_or(run, kPipelineLabel, "anonymous")},
               {"namespace", std::string(run.ns())},
               {"status", status}},
              duration_of_run(run), samples);
}

void count_task_run(const Object& run, Samples& samples) {
  const std::string status = status_of(run);
  samples.push_back({.metric = kTaskRuns, .labels = {{"status", status}}});
  const bool member = !run.label(kPipelineRunLabel).empty();
  MetricLabels labels{{"task", label_or(run, kTaskLabel, "anonymous")},
                      {"namespace", std::string(run.ns())},
                      {"status", status}};
  if (member) {
    labels.emplace_back("pipeline", label_or(run, kPipelineLabel, "anonymous"));
  }
  put_seconds(member ? kMemberSeconds : kTaskSeconds, std::move(labels), duration_of_run(run),
              samples);
}

std::optional<Instant> placed_at(const Object& pod) {
  const Value& condition = find_condition(pod.status()["conditions"], "PodScheduled");
  return condition["status"].as_string() == "True" ? time_of(condition["lastTransitionTime"])
                                                   : std::nullopt;
}

void measure_pod(const ObjectChanged& change, Samples& samples) {
  const auto placed = placed_at(*change.after);
  const auto made = change.after->creation_time();
  if (change.after->label(kTaskRunLabel).empty() || !placed || !made || placed_at(*change.before)) {
    return;
  }
  samples.push_back(
      {.metric = kPodLatency,
       .labels = {{"namespace", std::string(change.after->ns())},
                  {"task", label_or(*change.after, kTaskLabel, "anonymous")}},
       .value = static_cast<double>(
           std::chrono::duration_cast<std::chrono::milliseconds>(*placed - *made).count())});
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (change.before == nullptr || change.after == nullptr) {
    return;
  }
  if (&change.kind == &api::kPod) {
    measure_pod(change, samples);
  } else if (is_done(*change.after) && !is_done(*change.before)) {
    &change.kind == &api::kPipelineRun ? count_run(*change.after, samples)
                                       : count_task_run(*change.after, samples);
  }
}

// Labels of a run in kRunningRuns: metrics.running-pipelinerun.level of config-observability.
MetricLabels running_labels(const Object& run, std::string_view level) {
  MetricLabels labels;
  if (level == "pipelinerun" || level == "pipeline" || level == "namespace") {
    labels.emplace_back("namespace", run.ns());
  }
  if (level == "pipelinerun" || level == "pipeline") {
    labels.emplace_back("pipeline", label_or(run, kPipelineLabel, "anonymous"));
  }
  if (level == "pipelinerun") {
    labels.emplace_back("pipelinerun", run.name());
  }
  return labels;
}

void measure_runs(const View& view, Samples& samples) {
  const auto config = view.get(api::kConfigMap, {"tekton-pipelines", "config-observability"});
  const std::string level =
      config ? config->body()["data"]["metrics.running-pipelinerun.level"].str() : "";
  std::map<MetricLabels, double> running;
  if (level.empty()) {
    running[{}] = 0;
  }
  double on_pipeline = 0;
  double on_task = 0;
  for (const Object& run : view.list(api::kPipelineRun)) {
    const std::string_view reason = succeeded(run)["reason"].as_string();
    if (is_done(run) || succeeded(run).is_null()) {
      continue;
    }
    running[running_labels(run, level)] += 1;
    on_pipeline += reason == "ResolvingPipelineRef" ? 1 : 0;
    on_task += reason == "ResolvingTaskRef" ? 1 : 0;
  }
  for (const auto& [labels, count] : running) {
    samples.push_back({.metric = kRunningRuns, .labels = labels, .value = count});
  }
  samples.push_back({.metric = kOnPipeline, .value = on_pipeline});
  samples.push_back({.metric = kOnTask, .value = on_task});
}

void measure(const View& view, Samples& samples) {
  measure_runs(view, samples);
  double task_runs = 0;
  double on_task = 0;
  std::map<std::string, double> by_quota;
  std::map<std::string, double> by_node;
  for (const Object& run : view.list(api::kTaskRun)) {
    const std::string_view reason = succeeded(run)["reason"].as_string();
    if (is_done(run) || succeeded(run).is_null()) {
      continue;
    }
    task_runs += 1;
    on_task += reason == "ResolvingTaskRef" ? 1 : 0;
    by_quota[std::string(run.ns())] += reason == "ExceededResourceQuota" ? 1 : 0;
    by_node[std::string(run.ns())] += reason == "ExceededNodeResources" ? 1 : 0;
  }
  samples.push_back({.metric = kRunningTaskRuns, .value = task_runs});
  samples.push_back({.metric = kTaskRunOnTask, .value = on_task});
  for (const auto& [metric, counts] :
       {std::pair{kByQuota, by_quota}, std::pair{kByNode, by_node}}) {
    for (const auto& [ns, count] : counts) {
      samples.push_back({.metric = metric, .labels = {{"namespace", ns}}, .value = count});
    }
  }
}

constexpr const Kind* kKinds[] = {&api::kPipelineRun, &api::kTaskRun, &api::kPod};

}  // namespace

const Instruments& instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kMetrics, .kinds = kKinds, .state = measure, .changed = count_change};
  return kInstruments;
}

}  // namespace athanor::tekton
