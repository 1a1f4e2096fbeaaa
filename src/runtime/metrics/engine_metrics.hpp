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
// As in controller_runtime_reconcile_total: "success", "requeue", "requeue_after", "error".
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
  // `duration`: from the reconcile's beginning to the answer to its last write.
  void finished(std::size_t controller, ReconcileResult result, Duration duration);
  void wrote(std::size_t controller);
  void suppressed(std::size_t controller);
  void failed(std::size_t controller, int code);
  // A key that was taken waits after all.
  void put_off(std::size_t controller);
  // A key has waited too long for "writes" or "sight" (`on`), or does so no longer.
  void overdue(std::size_t controller, std::string_view what, bool on);
  // Broken invariants, by who broke them: a controller, "engine", "caches", "instruments".
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
