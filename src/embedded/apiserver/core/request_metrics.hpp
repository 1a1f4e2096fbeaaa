// SPDX-License-Identifier: Apache-2.0
// What the API server counts about itself, as text for Prometheus (docs/spec/apiserver.md 4.5).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "base/time.hpp"

namespace athanor::apiserver {

struct Call;
struct Core;
struct FlowClass;

// Thread-safe.
class RequestMetrics {
 public:
  // Counts a request as one that runs, for as long as this lives.
  class Running {
   public:
    Running(RequestMetrics& metrics, bool mutating);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

   private:
    std::atomic<std::int64_t>& count_;
  };

  // Holds a seat of a flow schema and its priority level, for as long as this lives.
  class Seat {
   public:
    Seat(RequestMetrics& metrics, const FlowClass& flow);
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat();

   private:
    RequestMetrics& metrics_;
    std::string labels_;
  };

  // Counts one request that was answered.
  void note(const Call& call, int code, Duration took);
  // Counts one request of a control loop that was refused.
  void note_refusal(const std::string& loop, int code);
  [[nodiscard]] std::string text(const Core& core) const;
  // Returns the text of /metrics/slis: each health check's state.
  [[nodiscard]] static std::string health_text(const Core& core);

 private:
  void note_flow(const Call& call, int code, double seconds) ATHANOR_REQUIRES(mutex_);
  void add_flows(std::string& out) const ATHANOR_REQUIRES(mutex_);

  static constexpr std::array<double, 15> kBuckets = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8,
                                                      1.0,   1.25,  1.5,  2,   3,   5,   10};
  struct Histogram {
    std::array<std::uint64_t, kBuckets.size() + 1> counts{};
    double sum = 0;
  };

  // The requests of one schema of a level.
  struct Flow {
    std::int64_t executing = 0;
    std::uint64_t dispatched = 0;
    std::uint64_t rejected = 0;
    Histogram execution{};
  };

  static void add_histogram(std::string& out, std::string_view name, const std::string& labels,
                            const Histogram& histogram);
  static void count_seconds(Histogram& histogram, double seconds);

  std::atomic<std::int64_t> reading_{0};
  std::atomic<std::int64_t> mutating_{0};
  mutable Mutex mutex_{};
  std::map<std::string, std::uint64_t, std::less<>> totals_
      ATHANOR_GUARDED_BY(mutex_){};  // by their printed labels
  std::map<std::string, Histogram, std::less<>> durations_ ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::string, Flow, std::less<>> flows_ ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::pair<std::string, int>, std::uint64_t> refusals_
      ATHANOR_GUARDED_BY(mutex_){};  // by loop and code
};

}  // namespace athanor::apiserver
