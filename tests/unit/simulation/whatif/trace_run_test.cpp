// SPDX-License-Identifier: Apache-2.0
// Small plays whose waiting times can be told by hand, and what is made of them.
#include "simulation/whatif/trace_run.hpp"

#include <gtest/gtest.h>

#include "product/list.hpp"
#include "simulation/whatif/report.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::whatif::trace_run_test {
namespace {

lab::Lab one_cluster() {
  lab::Lab lab;
  lab.clusters = {
      {.name = "only", .quota = {{"fournos/gpu-h200", "8"}, {"fournos/cluster-slot", "100"}}}};
  lab.queues = {{.name = "fournos-queue"}};
  lab.priority_classes = {{"manual", 200}, {"adhoc", 10}};
  return lab;
}

Submission job(int at, const char* owner, int gpus, int seconds, const char* priority = "") {
  return {.submit = std::chrono::seconds(at),
          .owner = owner,
          .gpu_type = "h200",
          .gpus = gpus,
          .duration = std::chrono::seconds(seconds),
          .priority = priority,
          .line = 2};
}

Result<Played> played(const Trace& trace, const lab::Lab& fleet, PlayOptions options = {}) {
  options.systems = all_systems();
  for (const Operator* op : fournos::fournos_operators()) {
    options.operators.push_back(op);
  }
  options.config["fournos"] =
      api::encode(fournos::parse_settings({{"FOURNOS_NAMESPACE", fleet.ns}}).value());
  return play(trace, fleet, options);
}

double waited(const Trace& trace, const Played& outcome, std::size_t index) {
  return std::chrono::duration<double>(outcome.runs[index].holds.at(0).from - outcome.start -
                                       trace.jobs[index].submit)
      .count();
}

TEST(Replay, ASecondJobWaitsForTheFirst) {
  const Trace trace{.name = "t.csv", .jobs = {job(0, "a", 8, 600), job(60, "b", 8, 300)}};
  const lab::Lab fleet = one_cluster();
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->runs[0].succeeded) << outcome->runs[0].message;
  EXPECT_TRUE(outcome->runs[1].succeeded) << outcome->runs[1].message;
  EXPECT_EQ(outcome->runs[0].cluster, "only");
  EXPECT_NEAR(waited(trace, *outcome, 0), 0, 5);
  EXPECT_NEAR(waited(trace, *outcome, 1), 540, 15);
  const Report report = make_report(trace, fleet, *outcome, "fleet.yaml", 10);
  EXPECT_EQ(report.succeeded, 2U);
  EXPECT_NEAR(report.by_owner.at("b").p50, 540, 15);
  EXPECT_EQ(report.usage.at("h200").capacity, 8);
  EXPECT_NEAR(report.usage.at("h200").mean, 1.0, 0.05);
  EXPECT_NEAR(report.over_time.at(4).queued, 1.0, 0.01);
}

TEST(Replay, AnExclusiveJobTakesItsClusterAlone) {
  Trace trace{.name = "t.csv", .jobs = {job(0, "a", 1, 600), job(60, "b", 1, 300)}};
  trace.jobs[0].cluster = "only";
  const lab::Lab fleet = one_cluster();
  const auto beside = played(trace, fleet);
  ASSERT_TRUE(beside.ok()) << beside.error().message;
  EXPECT_NEAR(waited(trace, *beside, 1), 0, 5);
  trace.jobs[0].exclusive = true;
  EXPECT_EQ(misfit(trace.jobs[0], fleet, "f"), "");
  const auto alone = played(trace, fleet);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_NEAR(waited(trace, *alone, 1), 540, 15);
  lab::Lab narrow = fleet;
  narrow.clusters[0].quota["fournos/cluster-slot"] = "10";
  EXPECT_NE(misfit(trace.jobs[0], narrow, "f"), "");
}

TEST(Replay, EndsWhenItsTimeIsOver) {
  const Trace trace{.name = "t.csv", .jobs = {job(0, "a", 8, 600), job(60, "b", 8, 300)}};
  const auto outcome = played(trace, one_cluster(), {.is_over_time = [] { return true; }});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, 504);
}

TEST(Replay, PriorityGoesFirst) {
  const Trace trace{.name = "t.csv",
                    .jobs = {job(0, "a", 8, 600, "manual"), job(10, "b", 8, 60, "adhoc"),
                             job(20, "c", 8, 60, "manual")}};
  const lab::Lab fleet = one_cluster();
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_LT(outcome->runs[2].holds.at(0).from, outcome->runs[1].holds.at(0).from);
}

// Two clusters of 8 GPUs, two jobs of an hour, and one of higher priority after ten minutes: one of
// the two is evicted at 10 min, waits until 60 min and runs again from the beginning.
TEST(Replay, CountsEveryStretchOfAnEvictedRun) {
  lab::Lab fleet = one_cluster();
  fleet.clusters.push_back(fleet.clusters.front());
  fleet.clusters.back().name = "other";
  const Trace trace{.name = "t.csv",
                    .jobs = {job(0, "a", 8, 3600, "adhoc"), job(0, "b", 8, 3600, "adhoc"),
                             job(600, "c", 8, 3600, "manual")}};
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const Report report = make_report(trace, fleet, *outcome, "fleet.yaml", 10);
  EXPECT_EQ(report.succeeded, 3U);
  EXPECT_EQ(report.evictions, 1U);
  EXPECT_NEAR(report.all.most, 3000, 60);
  EXPECT_NEAR(report.all.mean, 1000, 20);
  EXPECT_NEAR(report.hours, 2, 0.05);
  const Usage& used = report.usage.at("h200");
  EXPECT_EQ(used.capacity, 16);
  EXPECT_NEAR(used.most, 1.0, 0.001);
  // 16 GPUs from 0 to 60 min, then 8 for 10 min of c beside 8 of the evicted job, which runs until
  // 120 min.
  EXPECT_NEAR(used.mean, (16.0 * 60 + 16.0 * 10 + 8.0 * 50) / (16.0 * 120), 0.02);
}

// An account of its own: the holds of all runs, summed up instant by instant.
TEST(Replay, NeverUsesMoreThanTheFleetHas) {
  Trace trace{.name = "t.csv"};
  for (int i = 0; i < 60; ++i) {
    trace.jobs.push_back(job(i * 97, i % 2 == 0 ? "a" : "b", 1 + i % 8, 300 + 61 * (i % 13),
                             i % 5 == 0 ? "manual" : "adhoc"));
  }
  lab::Lab fleet = one_cluster();
  fleet.clusters.push_back(fleet.clusters.front());
  fleet.clusters.back().name = "other";
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  std::map<Instant, std::int64_t> changes;
  double busy_seconds = 0;
  std::size_t evictions = 0;
  for (const whatif::Run& run : outcome->runs) {
    evictions += run.holds.size() - 1;
    for (const Hold& hold : run.holds) {
      ASSERT_TRUE(hold.until.has_value());
      changes[hold.from] += trace.jobs[run.job].gpus;
      changes[*hold.until] -= trace.jobs[run.job].gpus;
      busy_seconds += static_cast<double>(trace.jobs[run.job].gpus) *
                      std::chrono::duration<double>(*hold.until - hold.from).count();
    }
  }
  std::int64_t level = 0;
  std::int64_t most = 0;
  for (const auto& [at, by] : changes) {
    level += by;
    most = std::max(most, level);
  }
  EXPECT_GT(evictions, 0U);
  EXPECT_LE(most, 16);
  const Report report = make_report(trace, fleet, *outcome, "fleet.yaml");
  const Usage& used = report.usage.at("h200");
  EXPECT_EQ(report.evictions, evictions);
  EXPECT_NEAR(used.most, static_cast<double>(most) / 16, 1e-9);
  EXPECT_NEAR(used.mean, busy_seconds / (16 * report.hours * 3600), 1e-6);
}

TEST(Replay, TheSameTwiceIsTheSame) {
  Trace trace{.name = "t.csv"};
  for (int i = 0; i < 30; ++i) {
    trace.jobs.push_back(job(i * 20, i % 2 == 0 ? "a" : "b", 1 + i % 4, 100 + 7 * i));
  }
  const lab::Lab fleet = one_cluster();
  const auto one = played(trace, fleet);
  const auto two = played(trace, fleet);
  ASSERT_TRUE(one.ok() && two.ok());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(one->runs[i].holds, two->runs[i].holds) << i;
    EXPECT_EQ(one->runs[i].ended, two->runs[i].ended) << i;
    EXPECT_TRUE(one->runs[i].succeeded) << i << " " << one->runs[i].message;
  }
}

// What a play leaves out to be fast changes nothing of what it tells.
TEST(Replay, GivesSameResultWhenWritesAreJudged) {
  Trace trace{.name = "t.csv"};
  for (int i = 0; i < 30; ++i) {
    trace.jobs.push_back(job(i * 20, i % 2 == 0 ? "a" : "b", 1 + i % 4, 100 + 7 * i,
                             i % 3 == 0 ? "manual" : "adhoc"));
  }
  const lab::Lab fleet = one_cluster();
  const auto trusting = played(trace, fleet);
  const auto judging = played(trace, fleet, {.judges_writes = true});
  ASSERT_TRUE(trusting.ok() && judging.ok());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(trusting->runs[i].holds, judging->runs[i].holds) << i;
    EXPECT_EQ(trusting->runs[i].ended, judging->runs[i].ended) << i;
    EXPECT_EQ(trusting->runs[i].cluster, judging->runs[i].cluster) << i;
    EXPECT_EQ(trusting->runs[i].succeeded, judging->runs[i].succeeded) << i;
  }
  EXPECT_EQ(trusting->writes, judging->writes);
  EXPECT_EQ(trusting->reconciles, judging->reconciles);
}

TEST(Replay, PlaysFleetLargerThanOneKueueQueue) {
  lab::Lab fleet = one_cluster();
  for (int i = 0; i < 99; ++i) {
    fleet.clusters.push_back({.name = "more-" + std::to_string(i),
                              .quota = {{"fournos/gpu-h200", "1"}, {"fournos/cluster-slot", "1"}}});
  }
  Submission last = job(0, "a", 1, 60);
  last.cluster = "more-98";
  const Trace trace{.name = "t.csv", .jobs = {last}};
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->runs[0].cluster, "more-98");
}

// Each is a round through the engine, the server and the caches. More of them than now is a reason
// to look for what repeats itself.
TEST(Replay, AJobCostsFewReconcilesAndWrites) {
  Trace trace{.name = "t.csv"};
  for (int i = 0; i < 20; ++i) {
    trace.jobs.push_back(job(i * 1000, "a", 8, 600));
  }
  const auto outcome = played(trace, one_cluster());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_LT(outcome->reconciles / trace.jobs.size(), 60U);
  EXPECT_LT(outcome->writes / trace.jobs.size(), 30U);
}

TEST(Replay, AJobThatWaitsLongCostsNoMore) {
  Trace trace{.name = "t.csv"};
  for (int i = 0; i < 60; ++i) {
    trace.jobs.push_back(job(i, "a", 1 + i % 4, 600 + 7 * i));
  }
  const auto outcome = played(trace, one_cluster());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_GT(waited(trace, *outcome, 59), 3600);
  EXPECT_LT(outcome->reconciles / trace.jobs.size(), 70U);
  EXPECT_LT(outcome->writes / trace.jobs.size(), 30U);
}

TEST(Replay, RefusesJobsThatCanNeverRun) {
  const lab::Lab fleet = one_cluster();
  Submission pinned = job(0, "a", 1, 60);
  pinned.cluster = "other";
  Submission large = job(0, "a", 16, 60);
  large.cluster = "only";
  const struct {
    Submission job{};
    const char* says = "";
  } cases[] = {
      {job(0, "a", 16, 60),
       "t.csv:2: 16 GPUs of type h200 fit in no cluster of f.yaml (at most 8)"},
      {large, "t.csv:2: 16 GPUs of type h200 do not fit in cluster only of f.yaml (at most 8)"},
      {pinned, "t.csv:2: cluster \"other\" is not in f.yaml; add it there"},
      {job(0, "a", 1, 60, "urgent"),
       "t.csv:2: priority \"urgent\" is not in f.yaml; it has manual, adhoc"}};
  for (const auto& one : cases) {
    const auto fits = check_fit({.name = "t.csv", .jobs = {one.job}}, fleet, "f.yaml");
    ASSERT_FALSE(fits.ok());
    EXPECT_NE(fits.error().message.find(one.says), std::string::npos) << fits.error().message;
  }
}

TEST(Report, GivesItsFiguresAsJson) {
  const Trace trace{.name = "t.csv", .jobs = {job(0, "<a&b>", 8, 600), job(60, "b", 8, 300)}};
  const lab::Lab fleet = one_cluster();
  const auto outcome = played(trace, fleet);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const Report report = make_report(trace, fleet, *outcome, "fleet.yaml");
  const Value value = to_value(report);
  EXPECT_EQ(value["succeeded"], Value(2));
  EXPECT_EQ(value["waiting"]["byOwner"]["b"]["jobs"], Value(1));
  EXPECT_EQ(value["overTime"].size(), 240U);
}

TEST(Report, TimesForPeople) {
  EXPECT_EQ(short_time(0), "0s");
  EXPECT_EQ(short_time(59.2), "59s");
  EXPECT_EQ(short_time(720), "12m");
  EXPECT_EQ(short_time(12'000), "3h20m");
  EXPECT_EQ(short_time(187'200), "2d4h");
}

}  // namespace
}  // namespace athanor::whatif::trace_run_test
