// SPDX-License-Identifier: Apache-2.0
// Rows of jobs: start, duration, and the cause of a failure.
#include "views/job_view.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"

namespace athanor::views::job_view_test {
namespace {

const Instant kNow = *parse_time("2026-01-01T01:00:00Z");

Object listed_job(const std::string& phase, const std::string& message) {
  return Object(*yaml::parse(
      "{kind: FournosJob, metadata: {name: j, namespace: ns, creationTimestamp: "
      "\"2026-01-01T00:00:00Z\"}, spec: {owner: ann}, status: {phase: " +
      phase + ", cluster: edge, message: \"" + message +
      "\", completionTime: \"2026-01-01T00:10:00Z\", conditions: [{type: WorkloadAdmitted, "
      "status: \"True\", lastTransitionTime: \"2026-01-01T00:01:00Z\"}]}}"));
}

Object run_of_step(const std::string& task, int code, const std::string& end) {
  return Object(*yaml::parse(
      "{metadata: {name: j-" + task +
      ", namespace: ns, labels: {fournos.dev/job-name: j}}, status: {steps: [{name: " + task +
      ", container: step-" + task + ", terminated: {exitCode: " + std::to_string(code) +
      ", finishedAt: \"" + end + "\"}}]}}"));
}

constexpr const char* kMessage = "Tasks Completed: 1 (Failed: 1, Cancelled 0), Skipped: 0";

TEST(JobRows, NameTheFirstFailedStep) {
  const FailureCauses causes = failure_causes({run_of_step("clean", 1, "2026-01-01T00:09:00Z"),
                                               run_of_step("measure", 7, "2026-01-01T00:08:00Z"),
                                               run_of_step("load", 0, "2026-01-01T00:05:00Z")});
  const Listing listing = job_listing({listed_job("Failed", kMessage)}, causes, {}, kNow);
  ASSERT_EQ(listing.rows.size(), 1U);
  EXPECT_EQ(listing.rows.front().cells,
            (std::vector<std::string>{"j", "ann", "Failed", "edge", "2026-01-01 00:01:00", "9m",
                                      "60m", "step-measure exited with code 7"}));
  EXPECT_EQ(listing.titles.size(), listing.rows.front().cells.size());
}

TEST(JobRows, KeepTheMessageOfOtherEnds) {
  const FailureCauses causes = failure_causes({run_of_step("measure", 7, "2026-01-01T00:08:00Z")});
  EXPECT_EQ(job_listing({listed_job("Succeeded", "Pipeline completed")}, causes, {}, kNow)
                .rows.front()
                .cells.back(),
            "Pipeline completed")
      << "a step that was tried again";
  EXPECT_EQ(job_listing({listed_job("Failed", "no such pipeline")}, {}, {}, kNow)
                .rows.front()
                .cells.back(),
            "no such pipeline");
}

}  // namespace
}  // namespace athanor::views::job_view_test
