// SPDX-License-Identifier: Apache-2.0
// Schedules: next starts over changes of the clocks, states, and what their pods submit.
#include "views/schedule_view.hpp"

#include <gtest/gtest.h>

#include "base/files/time_zone_files.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::views::schedule_view_test {
namespace {

using fournos::schedule_object;
using fournos::ScheduleSpec;

Value job() {
  return *yaml::parse(R"(
apiVersion: fournos.dev/v1
kind: FournosJob
metadata: {generateName: llmd-}
spec: {owner: ann, cluster: c1, pipeline: p, forge: {project: llm d, args: [cks]}}
)");
}

ScheduleSpec nightly() {
  return {.name = "nightly",
          .ns = "bench",
          .cron = "30 2 * * *",
          .zone = "Europe/Berlin",
          .image = "athanor:1",
          .job = job()};
}

Instant at(const char* text) {
  return parse_time(text).value_or(Instant());
}

// On 29 March 2026 the clocks of Berlin go from 02:00 to 03:00.
TEST(Schedules, NextStartsFollowTheZone) {
  const auto starts =
      next_starts("30 2 * * *", "Europe/Berlin", at("2026-03-27T12:00:00Z"), 3, find_time_zone);
  ASSERT_TRUE(starts.ok()) << starts.error().message;
  ASSERT_EQ(starts->size(), 3U);
  EXPECT_EQ((*starts)[0].local_text(), "2026-03-28 02:30:00 +01:00");
  EXPECT_EQ((*starts)[1].local_text(), "2026-03-30 02:30:00 +02:00");
  EXPECT_EQ(format_time((*starts)[1].at), "2026-03-30T00:30:00Z");
  EXPECT_FALSE(next_starts("30 2 * *", "", Instant(), 1, find_time_zone).ok());
  EXPECT_FALSE(next_starts("@daily", "Mars/Base", Instant(), 1, find_time_zone).ok());
}

Object hourly(const std::string& spec) {
  return Object(
      *yaml::parse("{metadata: {name: h, namespace: n, uid: u, creationTimestamp: "
                   "\"2026-01-01T00:30:00Z\"}, spec: {schedule: \"0 * * * *\"" +
                   spec + "}}"));
}

std::string texts(const AbsentStarts& absent) {
  std::string text;
  for (const AbsentStart& start : absent.starts) {
    text += format_time(start.at) +
            (start.kind == AbsentStart::Kind::Skipped ? " skipped " : " missed ") + start.reason +
            "\n";
  }
  return text;
}

TEST(Schedules, NameStartsWithoutJobs) {
  ScheduleRuns runs{.created = {at("2026-01-01T01:00:03Z"), at("2026-01-01T04:10:00Z")}};
  runs.jobs.emplace_back(*yaml::parse(R"(
metadata: {name: h-1, annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-01-01T03:00:00Z"}}
status: {conditions: [{type: Failed, status: "True", message: no image}]})"));
  runs.jobs.emplace_back(*yaml::parse(R"(
metadata: {name: h-2, annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-01-01T06:00:00+01:00"}}
status: {conditions: [{type: Complete, status: "True"}]})"));
  runs.events.emplace_back(*yaml::parse(R"(
{reason: JobAlreadyActive, message: is running, firstTimestamp: "2026-01-01T06:00:01Z",
 lastTimestamp: "2026-01-01T06:00:01Z"})"));
  const auto absent = absent_starts(hourly(""), runs, at("2026-01-01T07:01:00Z"), find_time_zone);
  ASSERT_TRUE(absent.ok()) << absent.error().message;
  EXPECT_EQ(texts(*absent),
            "2026-01-01T06:00:00Z skipped JobAlreadyActive\n"
            "2026-01-01T03:00:00Z missed JobFailed\n"
            "2026-01-01T02:00:00Z missed NoJob\n");
  EXPECT_EQ(absent->starts[1].message, "job.batch/h-1 that submits it failed: no image");
}

TEST(Schedules, SkipStartsOfAPause) {
  const auto absent =
      absent_starts(hourly(", suspend: true"), {}, at("2026-01-01T03:00:00Z"), find_time_zone);
  ASSERT_TRUE(absent.ok());
  EXPECT_EQ(texts(*absent),
            "2026-01-01T02:00:00Z skipped Paused\n2026-01-01T01:00:00Z skipped Paused\n");
}

TEST(Schedules, JudgeNoStartBeforeTheLastChange) {
  Object cron = hourly("");
  Value body = cron.body();
  body.set_path({"metadata", "managedFields"}, *yaml::parse(R"([{time: "2026-01-01T02:30:00Z"},
                                 {time: "2026-01-01T09:00:00Z", subresource: status}])"));
  const auto absent = absent_starts(Object(body), {}, at("2026-01-01T04:30:00Z"), find_time_zone);
  ASSERT_TRUE(absent.ok());
  EXPECT_EQ(texts(*absent),
            "2026-01-01T04:00:00Z missed NoJob\n2026-01-01T03:00:00Z missed NoJob\n");
  EXPECT_EQ(absent_starts(hourly(""), {}, at("2026-02-01T00:00:00Z"), find_time_zone)->total, 167U)
      << "a week";
}

TEST(Schedules, AreStoredAsTheOldInterfaceDoes) {
  const auto cron = schedule_object(nightly());
  ASSERT_TRUE(cron.ok()) << cron.error().message;
  const Object object(*cron);
  EXPECT_EQ(object.label("fournos-launcher/managed-by"), "fournos-dashboard");
  EXPECT_EQ(object.label("fournos-launcher/project"), "llm-d");
  EXPECT_EQ(object.annotation("fournos-launcher/project"), "llm d");
  EXPECT_EQ(object.annotation("fournos-launcher/cluster"), "c1");
  EXPECT_EQ(object.spec()["timeZone"].as_string(), "Europe/Berlin");
  EXPECT_EQ(object.spec().at({"jobTemplate", "spec", "backoffLimit"}).as_int(-1), 0);
  const auto stored = fournos::job_of_schedule(object);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ((*stored)["metadata"]["generateName"].as_string(), "nightly-");
  EXPECT_EQ((*stored)["metadata"]["labels"]["fournos-launcher/schedule-name"].as_string(),
            "nightly");
}

TEST(Schedules, RefuseWrongNamesAndLines) {
  ScheduleSpec wrong = nightly();
  wrong.name = std::string(53, 'x');
  EXPECT_FALSE(schedule_object(wrong).ok());
  wrong = nightly();
  wrong.cron = "61 * * * *";
  EXPECT_FALSE(schedule_object(wrong).ok());
  wrong = nightly();
  wrong.image.clear();
  EXPECT_FALSE(schedule_object(wrong).ok());
}

TEST(Schedules, ShowStateAndNextStart) {
  Value cron = *schedule_object(nightly());
  const Instant now = at("2026-01-31T00:00:00Z");
  ScheduleState state = schedule_state(Object(cron), now, find_time_zone);
  EXPECT_EQ(state.next.size(), 5U);
  EXPECT_EQ(state.to_value(now)["state"].as_string(), "Active");
  EXPECT_EQ(state.to_value(now)["next"][0]["in"].as_int(), 5400);
  cron.member("spec").set("suspend", true);
  state = schedule_state(Object(cron), now, find_time_zone);
  EXPECT_TRUE(state.paused && state.next.empty());
  cron.member("spec").set("suspend", false);
  cron.member("spec").set("timeZone", "Mars/Base");
  EXPECT_NE(schedule_state(Object(cron), now, find_time_zone).problem, "");
  const Listing listing =
      schedule_listing({Object(cron), Object(job())}, false, now, find_time_zone);
  ASSERT_EQ(listing.rows.size(), 1U) << "other CronJobs are no schedules";
}

Object recurring(const std::string& pause, const std::string& phase = "Recurring") {
  return Object(*yaml::parse(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: nightly, namespace: bench, "
      "creationTimestamp: \"2026-01-01T00:30:00Z\", annotations: {" +
      pause +
      "}}, spec: {schedule: \"0 * * * *\", owner: ann, cluster: c1, forge: {project: llmd}}, "
      "status: {phase: " +
      phase + ", message: m, lastScheduledTime: \"2026-01-01T02:00:00Z\"}}"));
}

TEST(Schedules, OfJobsAreListedToo) {
  const Instant now = at("2026-01-01T02:30:00Z");
  ScheduleState state = schedule_state(recurring(""), now, find_time_zone);
  EXPECT_EQ(state.phase(), "Active");
  EXPECT_EQ(format_time(state.next.at(0).at), "2026-01-01T03:00:00Z");
  state = schedule_state(recurring("fournos.dev/paused-until: forever"), now, find_time_zone);
  EXPECT_EQ(state.phase(), "Paused");
  EXPECT_TRUE(state.next.empty());
  state = schedule_state(recurring("fournos.dev/paused-until: \"2026-01-01T02:10:00Z\""), now,
                         find_time_zone);
  EXPECT_EQ(state.phase(), "Active");
  state = schedule_state(recurring("", "Stopped"), now, find_time_zone);
  EXPECT_EQ(state.phase(), "Ended");
  EXPECT_EQ(state.problem, "m");
  const Listing listing =
      schedule_listing({recurring(""), Object(job())}, false, now, find_time_zone);
  ASSERT_EQ(listing.rows.size(), 1U) << "a job without a schedule is none";
  EXPECT_EQ(listing.rows[0].cells,
            (std::vector<std::string>{"nightly", "Active", "0 * * * *", "UTC", "llmd", "c1", "ann",
                                      "30m", "2026-01-01 03:00 (in 30m)"}));
}

TEST(Schedules, OfJobsNameStartsWithoutJobs) {
  const ScheduleRuns runs{.created = {at("2026-01-01T02:00:01Z")}};
  const auto absent = absent_starts(recurring("fournos.dev/paused-until: \"2026-01-01T01:30:00Z\""),
                                    runs, at("2026-01-01T03:30:00Z"), find_time_zone);
  ASSERT_TRUE(absent.ok()) << absent.error().message;
  EXPECT_EQ(texts(*absent),
            "2026-01-01T03:00:00Z missed NoJob\n2026-01-01T01:00:00Z skipped Paused\n");
}

TEST(Schedules, SubmitOneJobForEachStart) {
  const Object cron(*schedule_object(nightly()));
  const Value& container =
      cron.spec().at({"jobTemplate", "spec", "template", "spec", "containers"})[0];
  const auto variables = [&](std::string_view name) -> std::optional<std::string> {
    if (name == "FOURNOS_JOB_NAME") {
      return "nightly-29384756";
    }
    if (name == "FOURNOS_TRIGGER_TYPE") {
      return "manual";
    }
    return name == "FJOB_JSON" ? std::optional(container["env"][0]["value"].str()) : std::nullopt;
  };
  const auto made = fournos::scheduled_job(variables, "# a\nbatch_size=64\nnothing\n");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)["metadata"]["name"].as_string(), "nightly-29384756");
  EXPECT_FALSE((*made)["metadata"].contains("generateName"));
  EXPECT_EQ((*made)["metadata"]["labels"]["fournos-launcher/trigger-type"].as_string(), "manual");
  EXPECT_EQ(made->at({"spec", "forge", "configOverrides", "batch_size"}).as_string(), "64");
  EXPECT_FALSE(fournos::scheduled_job([](std::string_view) { return std::nullopt; }, "").ok());
}

TEST(Schedules, StartByHandWithoutTheirTimes) {
  Value cron = *schedule_object(nightly());
  cron.member("metadata").set("uid", "u");
  const Value manual = fournos::manual_start(Object(cron), at("2026-01-31T08:00:05Z"));
  EXPECT_EQ(manual["metadata"]["name"].as_string(), "nightly-manual-20260131-080005");
  EXPECT_EQ(manual["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"].as_string(),
            "manual");
  const Value& variables = manual.at({"spec", "template", "spec", "containers"})[0]["env"];
  EXPECT_EQ(variables[variables.size() - 1]["value"].as_string(), "manual");
}

}  // namespace
}  // namespace athanor::views::schedule_view_test
