// SPDX-License-Identifier: Apache-2.0
// Metrics of the exporter (docs/spec/numa.md 9.11), and their text form.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "systems/numa/exporter/round.hpp"

namespace athanor::numa {

// Not thread-safe: its owner guards it.
class ExporterMetrics {
 public:
  explicit ExporterMetrics(std::string node) : node_(std::move(node)) {}

  // Counts a failed "list" or "get_allocatable_resources".
  void call_failed(const std::string& function) { ++failures_[function]; }
  // Counts "create", "update", "patch"; "unchanged": the object held the content already.
  void wrote(const std::string& operation, Trigger trigger) {
    ++writes_[{operation, text_of(trigger)}];
  }
  // Records the time of "podresources_scan" or "node_resource_object_update".
  void took(const std::string& operation, Trigger trigger, Duration time) {
    delays_[{operation, text_of(trigger)}] = time;
  }
  void woke(Trigger trigger, Duration late) { wakeups_[text_of(trigger)] = late; }
  // Counts a failed "send_patch", "make_patch", "marshal_previous", "marshal_current".
  void patch_failed(const std::string& stage) { ++patch_failures_[stage]; }
  void patched(double ratio);

  // Returns Prometheus' text format.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kBuckets = 10;  // 0.1 to 1.0

  std::string node_;
  std::map<std::string, std::uint64_t> failures_{};
  std::map<std::pair<std::string, std::string>, std::uint64_t> writes_{};
  std::map<std::pair<std::string, std::string>, Duration> delays_{};
  std::map<std::string, Duration> wakeups_{};
  std::map<std::string, std::uint64_t> patch_failures_{};
  std::array<std::uint64_t, kBuckets> ratios_{};
  std::uint64_t patches_ = 0;
  double ratio_sum_ = 0;
};

}  // namespace athanor::numa
