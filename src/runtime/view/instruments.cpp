// SPDX-License-Identifier: Apache-2.0
#include "runtime/view/instruments.hpp"

#include <algorithm>

namespace athanor {

void Instruments::tally(const Happening& happening, Samples& samples) const {
  const auto tell = [&samples](auto* count, const auto& one) {
    if (count != nullptr) {
      count(one, samples);
    }
  };
  if (const auto* change = std::get_if<ObjectChanged>(&happening)) {
    tell(changed, *change);
  } else if (const auto* write = std::get_if<WriteAnswered>(&happening)) {
    tell(written, *write);
  } else if (const auto* answer = std::get_if<QuestionAnswered>(&happening)) {
    tell(answered, *answer);
  } else if (const auto* run = std::get_if<Reconciled>(&happening)) {
    tell(reconciled, *run);
  }
}

bool is_one_of(std::span<const Operator* const> operators, std::string_view name) {
  return std::ranges::any_of(operators, [&](const Operator* one) { return one->name == name; });
}

void put_seconds(std::string_view metric, MetricLabels labels, Duration time, Samples& samples) {
  samples.push_back({.metric = metric,
                     .labels = std::move(labels),
                     .value = std::chrono::duration<double>(time).count()});
}

void put_counts(std::string_view metric, std::string_view label,
                const std::map<std::string, double, std::less<>>& counts, Samples& samples) {
  for (const auto& [state, count] : counts) {
    samples.push_back({.metric = metric, .labels = {{std::string(label), state}}, .value = count});
  }
}

}  // namespace athanor
