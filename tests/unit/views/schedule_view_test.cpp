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
