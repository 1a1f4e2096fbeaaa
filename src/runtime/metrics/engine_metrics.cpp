// SPDX-License-Identifier: Apache-2.0
// Names, helps and buckets of the engine's metrics.
#include "runtime/metrics/engine_metrics.hpp"

#include "base/check.hpp"

namespace athanor::runtime {

namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string_view name_of(ReconcileResult result) {
  switch (result) {
    case ReconcileResult::Success:
      return "success";
    case ReconcileResult::Requeue:
      return "requeue";
    case ReconcileResult::RequeueAfter:
      return "requeue_after";
    case ReconcileResult::Failure:
      return "error";
  }
  return "";
}

void EngineMetrics::add_controller(std::string_view name) {
  if (metrics_ == nullptr) {
    return;
  }
  const MetricLabels labels{{"controller", std::string(name)}};
  const MetricLabels queue{{"name", std::string(name)}};
  const auto buckets = Metrics::duration_buckets();
  PerController one{
      .name = std::string(name),
      .depth = metrics_->gauge("workqueue_depth", "Keys ready to run.", queue),
      .active = metrics_->gauge("controller_runtime_active_workers",
                                "Keys whose plan is being carried out.", labels),
      .adds = metrics_->counter("workqueue_adds_total", "Keys that became ready.", queue),
      .retries =
          metrics_->counter("workqueue_retries_total", "Keys put off after a failure.", queue),
      .errors = metrics_->counter("controller_runtime_reconcile_errors_total",
                                  "Reconciles that ended with an error.", labels),
      .queued = metrics_->histogram("workqueue_queue_duration_seconds",
                                    "How long a key waited before it ran.", buckets, queue),
      .work = metrics_->histogram("workqueue_work_duration_seconds",
                                  "From a key's start to the answer to its last write.", buckets,
                                  queue),
      .time = metrics_->histogram("controller_runtime_reconcile_time_seconds",
                                  "Time of one reconcile, its writes included.", buckets, labels),
      .plan = metrics_->histogram("athanor_plan_seconds",
                                  "Time of the controller's function alone.", buckets, labels),
      .reads = metrics_->histogram("athanor_reads_per_reconcile",
                                   "Objects and lists read by one reconcile.",
                                   {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, labels),
      .writes = metrics_->counter("athanor_writes_total", "Requests sent by a controller.", labels),
      .suppressed = metrics_->counter("athanor_suppressed_steps_total",
                                      "Steps not sent: their effect was there already.", labels)};
  for (const char* result : {"success", "requeue", "requeue_after", "error"}) {
    MetricLabels with_result = labels;
    with_result.emplace_back("result", result);
    one.results.push_back(metrics_->counter("controller_runtime_reconcile_total",
                                            "Reconciles by controller and result.", with_result));
  }
  controllers_.push_back(std::move(one));
}

void EngineMetrics::queued(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].depth.add(1);
    controllers_[controller].adds.add();
  }
}

void EngineMetrics::taken(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].depth.add(-1);
    controllers_[controller].active.add(1);
  }
}

void EngineMetrics::retried(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].retries.add();
  }
}

void EngineMetrics::started(std::size_t controller, Duration queued, std::size_t reads) {
  if (metrics_ != nullptr) {
    controllers_[controller].queued.observe(seconds(queued));
    controllers_[controller].reads.observe(static_cast<double>(reads));
  }
}

void EngineMetrics::took(std::size_t controller, Duration duration) {
  if (metrics_ != nullptr) {
    controllers_[controller].plan.observe(seconds(duration));
  }
}

void EngineMetrics::finished(std::size_t controller, ReconcileResult result, Duration duration) {
  if (metrics_ == nullptr) {
    return;
  }
  PerController& one = controllers_[controller];
  one.results[static_cast<std::size_t>(result)].add();
  one.active.add(-1);
  one.work.observe(seconds(duration));
  one.time.observe(seconds(duration));
  if (result == ReconcileResult::Failure) {
    one.errors.add();
  }
}

void EngineMetrics::wrote(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].writes.add();
  }
}

void EngineMetrics::suppressed(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].suppressed.add();
  }
}

void EngineMetrics::failed(std::size_t controller, int code) {
  if (metrics_ != nullptr) {
    metrics_
        ->counter("athanor_failed_writes_total", "Requests refused, by status code.",
                  {{"controller", controllers_[controller].name}, {"code", std::to_string(code)}})
        .add();
  }
}

void EngineMetrics::looped(std::size_t controller) {
  if (metrics_ != nullptr) {
    metrics_
        ->counter("athanor_write_loops_total",
                  "Pauses of keys that write an object in turn with another writer.",
                  {{"controller", controllers_[controller].name}})
        .add();
  }
}

void EngineMetrics::put_off(std::size_t controller) {
  if (metrics_ != nullptr) {
    controllers_[controller].active.add(-1);
  }
}

void EngineMetrics::overdue(std::size_t controller, std::string_view what, bool on) {
  if (metrics_ == nullptr) {
    return;
  }
  const MetricLabels labels{{"controller", controllers_[controller].name},
                            {"for", std::string(what)}};
  metrics_
      ->gauge("athanor_overdue_keys",
              "Keys that have waited longer than 10 s for the caches to show their own writes, or "
              "the first lists.",
              labels)
      .add(on ? 1 : -1);
  if (on) {
    metrics_
        ->counter("athanor_overdue_keys_total", "Keys that began to wait longer than 10 s.", labels)
        .add();
  }
}

void EngineMetrics::broke(std::string_view who, std::uint64_t times) {
  if (metrics_ != nullptr && times > 0) {
    metrics_
        ->counter("athanor_broken_invariants_total",
                  "Broken invariants, each of which cost a key or an input its run.",
                  {{"controller", std::string(who)}})
        .add(static_cast<double>(times));
  }
}

}  // namespace athanor::runtime
