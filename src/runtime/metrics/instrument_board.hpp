// SPDX-License-Identifier: Apache-2.0
// InstrumentBoard: the engine's side of instruments (view/instruments.hpp): shows them what
// happens, and keeps what they count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/view/instruments.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Does nothing without a Metrics.
class InstrumentBoard {
 public:
  // Instruments outlive it.
  InstrumentBoard(std::vector<const Instruments*> instruments, Metrics* metrics);

  [[nodiscard]] bool active() const { return metrics_ != nullptr && !instruments_.empty(); }
  // Sets what this replica is: "standalone" until it is called.
  void set_role(std::string_view role) { role_ = role; }
  // Returns true if an instrument reads changes of a kind.
  [[nodiscard]] bool wants(const Kind& kind) const { return kinds_.contains(&kind); }
  // Shows instruments a happening and `snapshot`, the state beside the change; may be null.
  void happened(const Happening& happening, Instant now, const Snapshot* snapshot = nullptr);
  // Returns the gauges in Prometheus' text form; `kinds` are those that the view holds.
  [[nodiscard]] std::string state(const Snapshot& snapshot, std::span<const Kind* const> kinds,
                                  Instant now) const;

 private:
  struct Stay {
    MetricLabels labels{};
    std::optional<Instant> since{};
  };
  void count(const Instruments& instruments, const Happening& happening, Instant now,
             const Snapshot* snapshot);
  void tell_broken() const;
  // Adds the label of the role where the instruments have one.
  void add_role(const Instruments& instruments, Sample& sample) const;
  void put(const Sample& sample, const MetricInfo& info);
  void enter(const Sample& sample, const MetricInfo& info, Instant now);

  std::vector<const Instruments*> instruments_;
  Metrics* metrics_;
  std::set<const Kind*, KindOrder> kinds_{};
  std::map<std::string_view, const MetricInfo*> infos_{};
  std::string role_ = "standalone";
  std::map<std::string, Stay, std::less<>> stays_{};  // by metric and key
  std::map<std::pair<std::string_view, MetricLabels>, Instant> marks_{};
};

// Gauges as text, in the order of `infos`; samples of other metrics are left out.
std::string gauges_text(std::span<const MetricInfo> infos, const Samples& samples);

}  // namespace athanor::runtime
