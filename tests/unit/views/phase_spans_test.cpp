// SPDX-License-Identifier: Apache-2.0
// Phases of a job with the time in each (docs/spec/dashboard.md B4.2, B4.3).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "views/job_view.hpp"

namespace athanor::views::phase_spans_test {
namespace {

Instant at(int seconds) {
  return *parse_time("2026-01-01T00:00:00Z") + std::chrono::seconds(seconds);
}

// "Pending 0-10, Running 10-": seconds since the first.
std::string spans_of(const JobCourse& course) {
  std::string text;
  const auto second = [](Instant time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time - at(0)).count());
  };
  for (const PhaseSpan& span : phase_spans(course)) {
    text += (text.empty() ? "" : ", ") + span.phase + " " + second(span.from) + "-" +
            (span.to ? second(*span.to) : "");
  }
  return text;
}

TEST(PhaseSpans, ComeFromConditionsWhereNothingWasSeen) {
  EXPECT_EQ(spans_of({.phase = "Running",
                      .created = at(0),
                      .resolved = at(5),
                      .admitted = at(20),
                      .ran = at(30)}),
            "Resolving 0-5, Pending 5-20, Admitted 20-30, Running 30-");
  EXPECT_EQ(spans_of({.phase = "Failed", .created = at(0), .admitted = at(20), .ended = at(60)}),
            "Pending 0-20, Admitted 20-60, Failed 60-60");
}

TEST(PhaseSpans, KeepTheRunOfAnEndedJob) {
  const JobCourse course{.phase = "Stopped",
                         .created = at(0),
                         .admitted = at(20),
                         .ended = at(60),
                         .seen = {{"Resolving", at(1)},
                                  {"Pending", at(5)},
                                  {"Pending", at(7)},
                                  {"Admitted", at(20)},
                                  {"Running", at(25)},
                                  {"Stopping", at(50)},
                                  {"Stopped", at(61)}}};
  EXPECT_EQ(spans_of(course),
            "Resolving 0-5, Pending 5-20, Admitted 20-25, Running 25-50, "
            "Stopping 50-60, Stopped 60-60");
}

TEST(PhaseSpans, KeepPhasesOfTheLastSecond) {
  const auto ms = [](int count) { return at(0) + std::chrono::milliseconds(count); };
  const JobCourse course{
      .phase = "Succeeded",
      .created = at(0),
      .ended = at(0),
      .seen = {{"Pending", ms(100)}, {"Running", ms(300)}, {"Succeeded", ms(800)}}};
  const std::vector<PhaseSpan> spans = phase_spans(course);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].phase + " " + spans[1].phase, "Pending Running");
  EXPECT_EQ(spans[1].from, ms(300));
  EXPECT_EQ(*spans[1].to, ms(800));
}

TEST(PhaseSpans, AddSpansBeforeTheFirstLook) {
  const JobCourse course{.phase = "Running",
                         .created = at(0),
                         .admitted = at(20),
                         .ran = at(25),
                         .seen = {{"Running", at(100)}}};
  EXPECT_EQ(spans_of(course), "Pending 0-20, Admitted 20-25, Running 25-");
}

TEST(PhaseSpans, LeaveOutPhasesOfNoLength) {
  EXPECT_EQ(spans_of({.phase = "Running", .created = at(0), .admitted = at(0), .ran = at(0)}),
            "Running 0-");
  EXPECT_EQ(spans_of({.phase = "Failed", .created = at(0), .ended = at(0)}), "Failed 0-0");
  EXPECT_EQ(spans_of({}), "");
}

TEST(CourseOfJob, ReadsItsConditions) {
  const JobCourse course = course_of_job(Object(
      yaml::parse(
          "{metadata: {name: j, creationTimestamp: '2026-01-01T00:00:00Z'}, status: {phase: "
          "Running, conditions: [{type: Resolved, status: 'True', lastTransitionTime: "
          "'2026-01-01T00:00:05Z'}, {type: WorkloadAdmitted, status: 'True', lastTransitionTime: "
          "'2026-01-01T00:00:20Z'}, {type: PipelineRunReady, status: Unknown, "
          "lastTransitionTime: '2026-01-01T00:00:30Z'}]}}")
          .value()));
  EXPECT_EQ(spans_of(course), "Resolving 0-5, Pending 5-20, Admitted 20-30, Running 30-");
  EXPECT_FALSE(course.ended);
}

}  // namespace
}  // namespace athanor::views::phase_spans_test
