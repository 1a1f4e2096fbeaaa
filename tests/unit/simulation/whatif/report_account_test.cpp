// SPDX-License-Identifier: Apache-2.0
// Every figure of a report against an account of its own: a look at each second of random
// histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "simulation/whatif/report.hpp"

namespace athanor::whatif::report_account_test {
namespace {

constexpr int kJobs = 40;
constexpr std::int64_t kGpus = 16;
constexpr std::size_t kStretches = 12;

struct History {
  Trace trace{};
  Played played{};
  lab::Lab fleet{};
};

Duration seconds(int count) {
  return std::chrono::seconds(count);
}

// Jobs that wait, run, are evicted and go on; the last one never runs.
History random_history(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  History history;
  history.fleet.clusters.push_back(
      {.name = "c", .quota = {{"fournos/gpu-a100", std::to_string(kGpus)}}});
  int last = 1;
  for (int i = 0; i < kJobs; ++i) {
    const bool has_gpus = pick(0, 3) > 0;
    history.trace.jobs.push_back({.submit = seconds(pick(0, 300)),
                                  .owner = "owner-" + std::to_string(pick(0, 2)),
                                  .gpu_type = has_gpus ? "a100" : "",
                                  .gpus = has_gpus ? pick(1, 8) : 0,
                                  .duration = seconds(10),
                                  .cluster = "c"});
    Run run{.job = static_cast<std::size_t>(i)};
    int at = static_cast<int>(
        std::chrono::duration_cast<std::chrono::seconds>(history.trace.jobs.back().submit).count());
    const int holds = i + 1 == kJobs ? 0 : pick(1, 3);
    for (int k = 0; k < holds; ++k) {
      at += pick(0, 60);
      const Instant from = history.played.start + seconds(at);
      at += pick(1, 60);
      run.holds.push_back({.from = from, .until = history.played.start + seconds(at)});
    }
    if (holds > 0) {
      run.ended = run.holds.back().until;
      run.succeeded = pick(0, 4) > 0;
      run.message = "job-0000001 ended";
      last = std::max(last, at);
    }
    history.played.runs.push_back(std::move(run));
  }
  // A multiple of the stretches: each has a whole number of seconds.
  last += static_cast<int>(kStretches) - last % static_cast<int>(kStretches);
  history.played.end = history.played.start + seconds(last);
  return history;
}

// What is so in the middle of one second.
struct Moment {
  std::size_t waiting = 0;
  std::int64_t busy = 0;
};

Moment look(const History& history, int second) {
  const Instant at = history.played.start + seconds(second) + std::chrono::milliseconds(500);
  Moment moment;
  for (const Run& run : history.played.runs) {
    const Submission& job = history.trace.jobs[run.job];
    if (at < history.played.start + job.submit || (run.ended && at >= *run.ended)) {
      continue;
    }
    const bool runs = std::ranges::any_of(run.holds, [&](const Hold& hold) {
      return at >= hold.from && (!hold.until || at < *hold.until);
    });
    moment.waiting += runs ? 0 : 1;
    moment.busy += runs ? job.gpus : 0;
  }
  return moment;
}

// Seconds that one job waits, counted one by one.
double seconds_waited(const History& history, const Run& run) {
  History alone;
  alone.trace = history.trace;
  alone.played = history.played;
  alone.played.runs = {run};
  const int length = static_cast<int>(
      std::chrono::duration_cast<std::chrono::seconds>(history.played.end - history.played.start)
          .count());
  double waited = 0;
  for (int second = 0; second < length; ++second) {
    waited += static_cast<double>(look(alone, second).waiting);
  }
  return waited;
}

// The least value that at least this share of all values does not exceed.
double ranked(const std::vector<double>& values, double share) {
  double found = 0;
  bool any = false;
  for (const double candidate : values) {
    const auto below = std::ranges::count_if(values, [&](double one) { return one <= candidate; });
    const bool enough =
        static_cast<double>(below) >= share * static_cast<double>(values.size()) - 1e-9;
    if (enough && (!any || candidate < found)) {
      found = candidate;
      any = true;
    }
  }
  return found;
}

void expect_waiting(const Waiting& told, const std::vector<double>& waits,
                    const std::string& what) {
  EXPECT_EQ(told.jobs, waits.size()) << what;
  double sum = 0;
  for (const double wait : waits) {
    sum += wait;
  }
  EXPECT_NEAR(told.mean, sum / static_cast<double>(waits.size()), 1e-6) << what;
  EXPECT_DOUBLE_EQ(told.p50, ranked(waits, 0.5)) << what;
  EXPECT_DOUBLE_EQ(told.p90, ranked(waits, 0.9)) << what;
  EXPECT_DOUBLE_EQ(told.p95, ranked(waits, 0.95)) << what;
  EXPECT_DOUBLE_EQ(told.p99, ranked(waits, 0.99)) << what;
  EXPECT_DOUBLE_EQ(told.most, *std::ranges::max_element(waits)) << what;
}

class ReportAccount : public ::testing::TestWithParam<unsigned> {};

TEST_P(ReportAccount, CountsWaitsLikeAClock) {
  const History history = random_history(GetParam());
  const Report report =
      make_report(history.trace, history.fleet, history.played, "fleet", kStretches);
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_owner;
  std::map<std::string, std::vector<double>> by_gpu;
  std::size_t evictions = 0;
  std::size_t succeeded = 0;
  for (const whatif::Run& run : history.played.runs) {
    succeeded += run.succeeded ? 1 : 0;
    if (run.holds.empty()) {
      continue;
    }
    evictions += run.holds.size() - 1;
    const double waited = seconds_waited(history, run);
    const Submission& job = history.trace.jobs[run.job];
    all.push_back(waited);
    by_owner[job.owner].push_back(waited);
    by_gpu[job.gpu_type.empty() ? "none" : job.gpu_type].push_back(waited);
  }
  EXPECT_EQ(report.evictions, evictions);
  EXPECT_EQ(report.succeeded, succeeded);
  EXPECT_EQ(report.unfinished, 1U);
  EXPECT_EQ(report.succeeded + report.failed + report.unfinished, report.jobs);
  expect_waiting(report.all, all, "all");
  ASSERT_EQ(report.by_owner.size(), by_owner.size());
  for (const auto& [owner, waits] : by_owner) {
    expect_waiting(report.by_owner.at(owner), waits, owner);
  }
  ASSERT_EQ(report.by_gpu.size(), by_gpu.size());
  for (const auto& [type, waits] : by_gpu) {
    expect_waiting(report.by_gpu.at(type), waits, type);
  }
}

TEST_P(ReportAccount, AveragesUseAndQueueLikeAClock) {
  const History history = random_history(GetParam());
  const Report report =
      make_report(history.trace, history.fleet, history.played, "fleet", kStretches);
  const int length = static_cast<int>(
      std::chrono::duration_cast<std::chrono::seconds>(history.played.end - history.played.start)
          .count());
  EXPECT_NEAR(report.hours, length / 3600.0, 1e-9);
  double busy = 0;
  double most = 0;
  std::vector<double> waiting(kStretches, 0.0);
  std::vector<double> used(kStretches, 0.0);
  const int width = length / static_cast<int>(kStretches);
  for (int second = 0; second < length; ++second) {
    const Moment moment = look(history, second);
    const auto stretch = static_cast<std::size_t>(second / width);
    busy += static_cast<double>(moment.busy);
    most = std::max(most, static_cast<double>(moment.busy));
    waiting[stretch] += static_cast<double>(moment.waiting) / width;
    used[stretch] += static_cast<double>(moment.busy) / width;
  }
  const Usage& usage = report.usage.at("a100");
  EXPECT_EQ(usage.capacity, kGpus);
  EXPECT_NEAR(usage.mean, busy / length / static_cast<double>(kGpus), 1e-6);
  EXPECT_NEAR(usage.most, most / static_cast<double>(kGpus), 1e-6);
  ASSERT_EQ(report.over_time.size(), kStretches);
  for (std::size_t i = 0; i < kStretches; ++i) {
    EXPECT_NEAR(report.over_time[i].queued, waiting[i], 1e-6) << i;
    EXPECT_NEAR(report.over_time[i].busy.at("a100"), used[i] / static_cast<double>(kGpus), 1e-6)
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReportAccount, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace athanor::whatif::report_account_test
