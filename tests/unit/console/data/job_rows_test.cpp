// SPDX-License-Identifier: Apache-2.0
// Jobs as rows, and small parts of rows.
#include "console/data/job_rows.hpp"

#include <gtest/gtest.h>

#include "console/data/csv.hpp"
#include "console/data/row_texts.hpp"
#include "console/data/schedule_rows.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::job_rows_test {
namespace {

Object object(const char* text) {
  return Object(*yaml::parse(text));
}

Object job() {
  return object(R"(
apiVersion: fournos.dev/v1
kind: FournosJob
metadata: {name: j, namespace: ns, uid: u, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z", labels: {fournos-launcher/schedule-name: nightly, fournos-launcher/trigger-type: scheduled}}
spec:
  owner: ann
  cluster: edge
  hardware: {gpuType: a100, gpuCount: 4}
  env: {PULL_NUMBER: "7", REPO_OWNER: o, REPO_NAME: r}
  executionEngine: {forge: {project: llm, args: [fast, small]}}
status:
  phase: Running
  cluster: edge
  message: "Tasks Completed: 1 (Failed: 0, Cancelled 0), Incomplete: 2, Skipped: 1"
  engineStatus: {forge: {exportArtifacts: {caliper_artifacts_export: {backends: {mlflow: {run_url: "javascript:alert"
}
}
}
}
}
}
  conditions:
  - {type: WorkloadAdmitted, status: "True", lastTransitionTime: "2026-01-01T00:01:00Z"}
)");
}

TEST(JobRow, HoldsColumnsOfTheList) {
  const Value row = job_row(job(), {});
  EXPECT_EQ(row["project"].as_string(), "llm");
  EXPECT_EQ(row["preset"].as_string(), "fast, small");
  EXPECT_EQ(row["hardware"]["text"].as_string(), "4× a100");
  EXPECT_EQ(row["trigger"].as_string(), "scheduled");
  EXPECT_EQ(row["schedule"].as_string(), "nightly");
  EXPECT_EQ(json::print(row["progress"]), R"({"done":1,"total":4})");
  EXPECT_EQ(row["waitSeconds"].as_double(), 60);
  EXPECT_EQ(row["links"]["pullRequest"].as_string(), "https://github.com/o/r/pull/7");
  EXPECT_FALSE(row["links"].contains("mlflow")) << "only http and https are links";
}

TEST(JobRow, CountsWaitAndRunUntilNow) {
  Value row = job_row(job(), {});
  add_elapsed(row, *parse_time("2026-01-01T00:02:30Z"));
  EXPECT_EQ(row["runSeconds"].as_double(), 90);
  EXPECT_EQ(row["waitSeconds"].as_double(), 60);
}

TEST(JobRow, HasAllColumnsOfItsShape) {
  const Value row = job_row(job(), {});
  for (const Member& member : row.members()) {
    EXPECT_NE(find_column(job_shape(), member.key()), nullptr) << member.key();
  }
}

TEST(JobPhases, FollowConditions) {
  const Value spans = phase_list(views::course_of_job(job()), *parse_time("2026-01-01T00:02:00Z"));
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]["phase"].as_string(), "Pending");
  EXPECT_EQ(spans[0]["seconds"].as_double(), 60);
  EXPECT_EQ(spans[1]["phase"].as_string(), "Admitted");
}

TEST(ShownObject, HidesValuesOfSecrets) {
  const Value shown = shown_object(object(
      "{kind: Secret, metadata: {name: s, managedFields: [{}]}, data: {password: c2VjcmV0}}"));
  EXPECT_EQ(shown["data"]["password"].as_string(), "***");
  EXPECT_FALSE(shown["metadata"].contains("managedFields"));
}

TEST(Csv, QuotesFormulas) {
  const Value items = Value::list(
      {Value::object({{"key", "=1+1"}, {"n", -2}}), Value::object({{"key", "a,\"b\""}, {"n", 1}})});
  EXPECT_EQ(csv_of(items, {"key", "n"}), "key,n\r\n'=1+1,-2\r\n\"a,\"\"b\"\"\",1\r\n");
}

TEST(ScheduleWords, DescribeCommonSchedules) {
  EXPECT_EQ(schedule_words("0 3 * * *"), "every day at 03:00");
  EXPECT_EQ(schedule_words("*/15 * * * *"), "every 15 minutes");
  EXPECT_EQ(schedule_words("30 6 * * 1-5"), "Monday to Friday at 06:30");
  EXPECT_EQ(schedule_words("@hourly"), "every hour");
  EXPECT_EQ(schedule_words("1 2 3 4 *"), "1 2 3 4 *");
}

TEST(SchedulePreview, ListsTheNextFiveRuns) {
  const Instant now = *parse_time("2026-01-01T00:00:00Z");
  const Value preview = schedule_preview("0 3 * * *", "", now);
  ASSERT_EQ(preview["next"].size(), 5U);
  EXPECT_EQ(preview["next"][0].as_string(), "2026-01-01T03:00:00Z");
  EXPECT_FALSE(schedule_preview("61 * * * *", "", now)["valid"].as_bool());
  EXPECT_FALSE(schedule_preview("0 3 * * *", "Moon/Base", now)["valid"].as_bool());
}

}  // namespace
}  // namespace athanor::console::job_rows_test
