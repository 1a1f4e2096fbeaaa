// SPDX-License-Identifier: Apache-2.0
// The engine's metrics, under the names that dashboards of controller-runtime know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "runtime/metrics.hpp"

namespace athanor::runtime {

enum class ReconcileResult : std::uint8_t { Success, Requeue, RequeueAfter, Failure };

// Does nothing without a Metrics.
class EngineMetrics {
 public:
  explicit EngineMetrics(Metrics* metrics) : metrics_(metrics) {}
  // Controllers are numbered from 0 in the order of these calls.
  void add_controller(std::string_view name);
  void depth(std::size_t ready);
  void started(std::size_t controller, Duration queued, std::size_t reads);
  void took(std::size_t controller, Duration duration);
  void finished(std::size_t controller, ReconcileResult result);
  void wrote(std::size_t controller);
  void suppressed(std::size_t controller);
  void failed(std::size_t controller, int code);

 private:
  struct PerController {
    std::string name{};
    Histogram queued;
    Histogram time;
    Histogram reads;
    std::vector<Counter> results{};
    Counter writes;
    Counter suppressed;
  };
  Metrics* metrics_;
  std::vector<PerController> controllers_{};
};

}  // namespace athanor::runtime
