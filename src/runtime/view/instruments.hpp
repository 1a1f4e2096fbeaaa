// SPDX-License-Identifier: Apache-2.0
// Instruments: what a system shows of itself, as pure functions like its controllers: of the caches
// for what there is (gauges, asked for at each look), and of one happening for what is counted.
// Controllers know nothing of it, and nothing of it reaches a decision.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType : std::uint8_t { Gauge, Counter, Histogram };
struct MetricInfo {
  std::string_view name{};
  std::string_view help{};
  MetricType type = MetricType::Gauge;
  std::span<const double> buckets{};  // of a histogram; empty: Metrics::duration_buckets()
  bool without_role = false;          // Instruments::role_label is left out
};

// One change of a metric.
struct Sample {
  enum class Act : std::uint8_t {
    Put,    // sets a gauge, adds to a counter, goes into a histogram
    Drop,   // the series of these labels goes: what it was about is gone
    Clear,  // all series with these labels among theirs go, whatever the role was
    Enter,  // `key` enters a stage; the time in the one it leaves goes there, under its labels
    Leave,  // `key` leaves its stage, and enters none
    Begin,  // `key` is in this stage; start time unknown
    Mark,   // the gauge of these labels shows the seconds since now, until it is dropped
  };
  std::string_view metric{};
  MetricLabels labels{};
  double value = 1;
  Act act = Act::Put;
  std::string key{};
};
using Samples = std::vector<Sample>;

// `before` is empty for an object seen for the first time, `after` for one that is gone.
struct ObjectChanged {
  const Kind& kind;
  const Object* before = nullptr;
  const Object* after = nullptr;
};
// The answer to an operator's write, Events left out.
struct WriteAnswered {
  std::string_view op{};
  std::string_view step{};  // name_of() in step.hpp
  const Kind& kind;
  int code = 0;  // 0: it succeeded
};
// The outside world's answer to an observation.
struct QuestionAnswered {
  std::string_view query{};
  bool good = false;
  Duration took{};
};
struct Reconciled {
  std::string_view op{};
  Duration took{};  // to the answer to its last write
  int code = 0;     // of the error that ended it; 0: none
};
using Happening = std::variant<ObjectChanged, WriteAnswered, QuestionAnswered, Reconciled>;

// Metrics of a system: their descriptions, and pure functions that compute samples.
struct Instruments {
  std::span<const MetricInfo> metrics{};
  // Kinds that `state` reads and whose changes are seen. Without one of them `state` is not asked.
  std::span<const Kind* const> kinds{};
  // The label that tells which replica speaks: "standalone", "leader" or "follower". Empty: none.
  std::string_view role_label{};
  void (*state)(const View& view, Samples& samples) = nullptr;
  // Counts events; null: they are not counted.
  void (*changed)(const ObjectChanged& change, Samples& samples) = nullptr;
  // Counts events with a view of other kinds as they are at the change; of its own kind it may be
  // behind.
  void (*witnessed)(const View& view, const ObjectChanged& change, Samples& samples) = nullptr;
  void (*written)(const WriteAnswered& answer, Samples& samples) = nullptr;
  void (*answered)(const QuestionAnswered& answer, Samples& samples) = nullptr;
  void (*reconciled)(const Reconciled& run, Samples& samples) = nullptr;

  void tally(const Happening& happening, Samples& samples) const;
};

// Returns true if one of the operators has this name.
bool is_one_of(std::span<const Operator* const> operators, std::string_view name);
// Adds a sample in seconds.
void put_seconds(std::string_view metric, MetricLabels labels, Duration time, Samples& samples);
// Adds a gauge for each state: the number of objects in it.
void put_counts(std::string_view metric, std::string_view label,
                const std::map<std::string, double, std::less<>>& counts, Samples& samples);

}  // namespace athanor
