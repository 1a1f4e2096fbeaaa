// SPDX-License-Identifier: Apache-2.0
// CronJobs: when jobs are made, which are kept, what is said about them.
#include "embedded/workloads/jobs/cron_job.hpp"

#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::cron_job_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Names = std::vector<std::string>;

class CronJobTest : public WorkloadTest {
 protected:
  CronJobTest() : WorkloadTest({&cron_job_operator()}) {}  // it is 2026-01-05T00:00:00Z
  void cron(const std::string& more) {
    put("{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: ns}, spec: "
        "{jobTemplate: {metadata: {labels: {a: b}}, spec: {template: {spec: {}}}}, " +
        more + "}}");
    settle();
  }
  Names jobs() {
    Names names;
    for (const Object& job : world.list(api::kJob)) {
      names.emplace_back(job.name());
    }
    return names;
  }
  void end(const std::string& name, const char* type = "Complete") {
    world.update(api::kJob, {"ns", name}, [&](Value& body) {
      Value conditions = Value::list();
      set_condition(conditions, {.type = type, .status = "True"}, world.now);
      body.set("status", Value::object({{"conditions", conditions},
                                        {"startTime", format_time(world.now)},
                                        {"completionTime", format_time(world.now)}}));
    });
    settle();
  }
  Value status() { return world.must(api::kCronJob, {"ns", "c"}).status(); }
  static std::string job_at(int minute) {
    return "c-" + std::to_string(29'459'520 + minute);  // minutes since 1970
  }
};

TEST_F(CronJobTest, MakesAJobWhenItsTimeHasCome) {
  cron("schedule: '*/10 * * * *'");
  EXPECT_TRUE(jobs().empty());
  pass(minutes(10));
  ASSERT_EQ(jobs(), (Names{job_at(10)}));
  const Object job = world.list(api::kJob)[0];
  EXPECT_EQ(job.annotation("batch.kubernetes.io/cronjob-scheduled-timestamp"),
            "2026-01-05T00:10:00Z");
  EXPECT_EQ(job.label("a"), "b");
  EXPECT_EQ(job.controller()->kind, "CronJob");
  EXPECT_EQ(status()["lastScheduleTime"].str(), "2026-01-05T00:10:00Z");
  ASSERT_EQ(status()["active"].size(), 1U);
  EXPECT_EQ(status()["active"][0]["name"].str(), job_at(10));
  EXPECT_EQ(note_of("SuccessfulCreate"), "Normal Created job " + job_at(10));
  end(job_at(10));
  EXPECT_TRUE(status()["active"].is_null());
  EXPECT_EQ(status()["lastSuccessfulTime"].str(), "2026-01-05T00:10:00Z");
  EXPECT_EQ(note_of("SawCompletedJob"),
            "Normal Saw completed job: " + job_at(10) + ", condition: Complete");
}

TEST_F(CronJobTest, MakesOneJobInAMinute) {
  cron("schedule: '@every 2s'");
  for (int i = 0; i < 5; ++i) {
    pass(std::chrono::seconds(2));
  }
  EXPECT_EQ(jobs(), (Names{job_at(0)}));
  EXPECT_EQ(world.event_count("SuccessfulCreate"), 1);
  EXPECT_EQ(status()["lastScheduleTime"].str(), "2026-01-05T00:00:10Z");
}

TEST_F(CronJobTest, HistoryIsLimitedPerOutcome) {
  cron("schedule: '* * * * *', successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1");
  for (int minute = 1; minute <= 6; ++minute) {
    pass(minutes(1));
    end(job_at(minute), minute % 2 == 0 ? "Failed" : "Complete");
  }
  EXPECT_EQ(jobs(), (Names{job_at(3), job_at(5), job_at(6)}));
  EXPECT_EQ(note_of("SuccessfulDelete"), "Normal Deleted job " + job_at(2));
}

TEST_F(CronJobTest, ConcurrencyPolicies) {
  cron("schedule: '* * * * *', concurrencyPolicy: Forbid");
  pass(minutes(3));
  EXPECT_EQ(jobs(), (Names{job_at(1)}));
  EXPECT_GE(world.event_count("JobAlreadyActive"), 1);
  end(job_at(1));
  EXPECT_EQ(jobs(), (Names{job_at(1), job_at(3)})) << "the latest of the missed starts";
  set_spec(api::kCronJob, {"ns", "c"}, {"concurrencyPolicy"}, "Replace");
  pass(minutes(1));
  EXPECT_EQ(jobs(), (Names{job_at(1), job_at(4)}));
  set_spec(api::kCronJob, {"ns", "c"}, {"concurrencyPolicy"}, "Allow");
  pass(minutes(1));
  EXPECT_EQ(jobs().size(), 3U);
}

TEST_F(CronJobTest, StartsLatestMissedJobAfterSuspension) {
  cron("schedule: '*/10 * * * *', suspend: true");
  pass(minutes(35));
  EXPECT_TRUE(jobs().empty());
  set_spec(api::kCronJob, {"ns", "c"}, {"suspend"}, false);
  EXPECT_EQ(jobs(), (Names{job_at(30)}));
}

TEST_F(CronJobTest, AStartThatIsTooLateIsSkipped) {
  cron("schedule: '0 * * * *', startingDeadlineSeconds: 120, suspend: true");
  world.advance(hours(1) + minutes(5));
  set_spec(api::kCronJob, {"ns", "c"}, {"suspend"}, false);
  EXPECT_TRUE(jobs().empty());
  pass(hours(1));
  EXPECT_EQ(jobs(), (Names{job_at(120)}));
}

TEST_F(CronJobTest, ReportsManyMissedStartsAndRunsLatest) {
  cron("schedule: '* * * * *', suspend: true");
  world.advance(hours(5));
  set_spec(api::kCronJob, {"ns", "c"}, {"suspend"}, false);
  EXPECT_EQ(jobs(), (Names{job_at(300)}));
  EXPECT_EQ(world.event_count("TooManyMissedTimes"), 1);
}

TEST_F(CronJobTest, TimeZonesAreAskedFor) {
  world.fail_observation("timezone:Mars/Base", Error::not_found("no"));
  cron("schedule: '0 9 * * *', timeZone: Mars/Base");
  EXPECT_EQ(note_of("UnknownTimeZone"),
            "Warning invalid timeZone: \"Mars/Base\": unknown time zone Mars/Base");
  pass(hours(24));
  EXPECT_TRUE(jobs().empty());
}

TEST_F(CronJobTest, JobsMadeByHandAreLeftAlone) {
  cron("schedule: '0 * * * *', concurrencyPolicy: Forbid");
  const std::string uid(world.must(api::kCronJob, {"ns", "c"}).uid());
  put("{apiVersion: batch/v1, kind: Job, metadata: {name: mine, namespace: ns, annotations: "
      "{cronjob.kubernetes.io/instantiate: manual}, ownerReferences: [{apiVersion: batch/v1, "
      "kind: CronJob, name: c, uid: " +
      uid + ", controller: true}]}}");
  settle();
  EXPECT_TRUE(status()["active"].is_null());
  EXPECT_EQ(note_of("UnexpectedJob"),
            "Warning Saw a job that the controller did not create or forgot: mine");
  pass(hours(1));
  EXPECT_EQ(jobs().size(), 2U);
}

}  // namespace
}  // namespace athanor::workloads::cron_job_test
