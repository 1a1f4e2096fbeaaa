// SPDX-License-Identifier: Apache-2.0
// The engine's metrics, under the names that dashboards of controller-runtime know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::runtime {

enum class ReconcileResult : std::uint8_t { Success, Requeue, RequeueAfter, Failure };
// Returns "success", "requeue", "requeue_after", "error", as in controller_runtime_reconcile_total.
std::string_view name_of(ReconcileResult result);

// Does nothing without a Metrics.
class EngineMetrics {
 public:
  explicit EngineMetrics(Metrics* metrics) : metrics_(metrics) {}
  // Controllers are numbered from 0 in the order of these calls.
  void add_controller(std::string_view name);
  void queued(std::size_t controller);  // a key became ready
  void taken(std::size_t controller);   // it runs
  void retried(std::size_t controller);
  void started(std::size_t controller, Duration queued, std::size_t reads);
  void took(std::size_t controller, Duration duration);
  // Records a `duration` from the reconcile's beginning to the answer to its last write.
  void finished(std::size_t controller, ReconcileResult result, Duration duration);
  void wrote(std::size_t controller);
  void suppressed(std::size_t controller);
  void failed(std::size_t controller, int code);
  // Counts a key that writes an object in turn with another writer, and pauses.
  void looped(std::size_t controller);
  // Removes a taken key that waits after all from the active ones.
  void put_off(std::size_t controller);
  // Counts a key as waiting too long for "writes" or "sight" if `on`, else no longer.
  void overdue(std::size_t controller, std::string_view what, bool on);
  // Counts broken invariants by origin: a controller, "engine", "caches", "instruments".
  void broke(std::string_view who, std::uint64_t times);

 private:
  struct PerController {
    std::string name{};
    Gauge depth;
    Gauge active;
    Counter adds;
    Counter retries;
    Counter errors;
    Histogram queued;
    Histogram work;
    Histogram time;
    Histogram plan;
    Histogram reads;
    std::vector<Counter> results{};
    Counter writes;
    Counter suppressed;
  };
  Metrics* metrics_;
  std::vector<PerController> controllers_{};
};

}  // namespace athanor::runtime
