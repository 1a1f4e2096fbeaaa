// SPDX-License-Identifier: Apache-2.0
// Submissions by office hours, sizes by powers of two, lengths log-normal.
#include "simulation/whatif/synthetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.hpp"

namespace athanor::whatif {

namespace {

constexpr double kMedianSeconds = 45 * 60;
constexpr double kSigma = 1.0;
constexpr double kShortest = 60;
constexpr double kLongestSeconds = 24 * 3600;

// From 0 (included) to 1 (excluded).
double share(Entropy& entropy) {
  constexpr double kSteps = 9007199254740992.0;  // 2 to the 53rd
  return static_cast<double>(entropy.next() >> 11) / kSteps;
}

// The sum of twelve shares less six: near enough to a normal draw, and the same everywhere.
double normal(Entropy& entropy) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    sum += share(entropy);
  }
  return sum;
}

// How busy an hour of the week is; the trace starts on a Monday at midnight.
double weight_of_hour(std::int64_t hour) {
  const std::int64_t day = hour / 24 % 7;
  const std::int64_t of_day = hour % 24;
  const double by_day = day >= 5 ? 0.3 : 1.0;
  if (of_day == 2) {
    return 2.5;  // nightly runs, weekends as well
  }
  return by_day * (of_day >= 9 && of_day < 18 ? 3.0 : of_day >= 7 && of_day < 22 ? 1.2 : 0.4);
}

template <class T>
const T& pick(Entropy& entropy, const std::vector<std::pair<T, double>>& weighted) {
  double sum = 0;
  for (const auto& [value, weight] : weighted) {
    sum += weight;
  }
  double left = share(entropy) * sum;
  for (const auto& [value, weight] : weighted) {
    left -= weight;
    if (left < 0) {
      return value;
    }
  }
  return weighted.back().first;
}

std::vector<std::pair<std::string, double>> owners_of(const Synthetic& wanted) {
  std::vector<std::string> names = wanted.owners;
  if (names.empty()) {
    names = {"inference", "training", "kernels", "serving",
             "perf-ci",   "research", "drivers", "docs"};
  }
  std::vector<std::pair<std::string, double>> weighted;
  for (std::size_t i = 0; i < names.size(); ++i) {
    weighted.emplace_back(names[i], 1.0 / static_cast<double>(i + 1));  // Zipf
  }
  return weighted;
}

}  // namespace

Trace synthetic_trace(const Synthetic& wanted) {
  const std::unique_ptr<Entropy> entropy = seeded_entropy(wanted.seed);
  std::vector<std::pair<std::int64_t, double>> hours;
  for (std::int64_t hour = 0; hour < wanted.days * 24; ++hour) {
    hours.emplace_back(hour, weight_of_hour(hour));
  }
  const auto owners = owners_of(wanted);
  std::vector<std::pair<std::string, double>> types(wanted.gpu_types.begin(),
                                                    wanted.gpu_types.end());
  if (types.empty()) {
    types = {{"a100", 2}, {"h200", 1}};
  }
  std::vector<std::pair<std::int64_t, double>> sizes;
  for (const auto& [size, weight] :
       std::array<std::pair<std::int64_t, double>, 4>{{{1, 0.4}, {2, 0.25}, {4, 0.2}, {8, 0.15}}}) {
    if (size <= wanted.most_gpus) {
      sizes.emplace_back(size, weight);
    }
  }
  const std::vector<std::pair<std::string, double>> by_day = {
      {"adhoc", 0.6}, {"presubmit", 0.3}, {"manual", 0.1}};
  Trace trace{.name = "synthetic"};
  for (std::int64_t i = 0; i < wanted.jobs; ++i) {
    const std::int64_t hour = pick(*entropy, hours);
    const auto second = static_cast<std::int64_t>(share(*entropy) * 3600);
    const double length = kMedianSeconds * std::exp(kSigma * normal(*entropy));
    Submission job{.submit = std::chrono::seconds(hour * 3600 + second),
                   .owner = pick(*entropy, owners),
                   .gpu_type = pick(*entropy, types),
                   .gpus = pick(*entropy, sizes),
                   .duration = std::chrono::seconds(
                       static_cast<std::int64_t>(std::clamp(length, kShortest, kLongestSeconds))),
                   .priority = hour % 24 == 2 ? std::string("nightly") : pick(*entropy, by_day)};
    if (!wanted.clusters.empty() && share(*entropy) < 0.1) {
      job.cluster = wanted.clusters[entropy->next() % wanted.clusters.size()];
      job.gpu_type.clear();
      job.gpus = 0;
    }
    trace.jobs.push_back(std::move(job));
  }
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const Submission& a, const Submission& b) { return a.submit < b.submit; });
  return trace;
}

}  // namespace athanor::whatif
