// SPDX-License-Identifier: Apache-2.0
// Which logs are read, how much of each, and how lines look.
#include "cli/jobs/log_lines.hpp"

#include <gtest/gtest.h>

#include "cli/jobs/log_source.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli::log_lines_test {
namespace {

Object object(std::string_view yaml) {
  return Object(*yaml::parse(yaml));
}

Object pod() {
  return object(R"(
metadata: {name: p, labels: {tekton.dev/pipelineTask: run}}
spec:
  initContainers: [{name: prepare}, {name: broken}]
  containers: [{name: step-a}, {name: step-b}, {name: sidecar}]
status:
  startTime: "2026-01-31T08:00:00Z"
  initContainerStatuses:
  - {name: prepare, state: {terminated: {exitCode: 0}}}
  - {name: broken, state: {terminated: {exitCode: 3}}}
  containerStatuses:
  - {name: step-a, state: {terminated: {exitCode: 0, startedAt: "2026-01-31T08:00:01Z"}}}
  - {name: step-b, restartCount: 2, state: {terminated: {exitCode: 7, startedAt: "2026-01-31T08:00:02Z"}}}
  - {name: sidecar, state: {waiting: {reason: ContainerCreating}}}
)");
}

std::vector<std::string> names(const LogChoice& choice) {
  std::vector<std::string> found;
  for (const StartedContainer& one : chosen_containers(pod(), choice)) {
    found.push_back(one.name);
  }
  return found;
}

using Names = std::vector<std::string>;

TEST(LogLines, ChooseContainersByEachFlag) {
  EXPECT_EQ(names({}), (Names{"broken", "step-a", "step-b"}));
  EXPECT_EQ(names({.container = "b"}), Names{"step-b"});
  EXPECT_EQ(names({.container = "prepare"}), Names{"prepare"});
  EXPECT_EQ(names({.failed = true}), (Names{"broken", "step-b"}));
  EXPECT_EQ(names({.previous = true}), Names{"step-b"});
  EXPECT_EQ(names({.task = "other"}), Names{});
  EXPECT_EQ(names({.task = "run", .container = "step-a"}), Names{"step-a"});
}

TEST(LogLines, BeginWithTheChosenPrefix) {
  EXPECT_EQ(log_prefix(pod(), "step-a", LogPrefix::Short), "[run/a]");
  EXPECT_EQ(log_prefix(pod(), "step-a", LogPrefix::Pod), "[pod/p/step-a]");
  EXPECT_EQ(log_prefix(pod(), "step-a", LogPrefix::None), "");
}

TEST(LogProgress, SkipsPrintedLinesAfterAnInterruption) {
  const LogChoice all;
  LogProgress progress;
  EXPECT_EQ(progress.query(all), "");
  EXPECT_EQ(progress.take(all, "one"), "one");
  EXPECT_EQ(progress.take(all, "two"), "two");
  progress.resume();
  EXPECT_EQ(progress.query(all), "");
  EXPECT_EQ(progress.take(all, "one"), std::nullopt);
  EXPECT_EQ(progress.take(all, "two"), std::nullopt);
  EXPECT_EQ(progress.take(all, "three"), "three");
}

TEST(LogProgress, ResumesATailByTime) {
  const LogChoice tail{.tail = 2};
  LogProgress progress;
  EXPECT_EQ(progress.query(tail), "&timestamps=true&tailLines=2");
  EXPECT_EQ(progress.take(tail, "2026-01-31T08:00:01.5Z one"), "one");
  progress.resume();
  EXPECT_EQ(progress.query(tail), "&timestamps=true&sinceTime=2026-01-31T08%3A00%3A01.5Z");
  EXPECT_EQ(progress.take(tail, "2026-01-31T08:00:01.5Z one"), std::nullopt);
  EXPECT_EQ(progress.take(tail, "2026-01-31T08:00:01.6Z two"), "two");
}

TEST(LogProgress, AsksForTimesAndPreviousInstances) {
  EXPECT_EQ(LogProgress().query({.previous = true, .timestamps = true}),
            "&timestamps=true&previous=true");
  LogProgress progress;
  const LogChoice stamped{.timestamps = true, .tail = 1};
  EXPECT_EQ(progress.take(stamped, "2026-01-31T08:00:01Z a b"), "2026-01-31T08:00:01Z a b");
  EXPECT_EQ(LogProgress().query({.since = parse_time("2026-01-31T08:00:00Z")}),
            "&timestamps=true&sinceTime=2026-01-31T08%3A00%3A00Z");
}

TEST(LogSource, KnowsTheEndOfEachKind) {
  const Kind job{"batch", "v1", "Job", "jobs", true};
  const auto phase = [&](std::string_view yaml) { return phase_of_source(job, object(yaml)); };
  EXPECT_EQ(phase("status: {conditions: [{type: Complete, status: 'True'}]}"), "Succeeded");
  EXPECT_EQ(phase("status: {conditions: [{type: Failed, status: 'True'}]}"), "Failed");
  EXPECT_EQ(phase("status: {conditions: [{type: Succeeded, status: 'False'}]}"), "Failed");
  EXPECT_EQ(phase("status: {conditions: [{type: Succeeded, status: Unknown}]}"), "Running");
  EXPECT_EQ(phase("status: {jobDeploymentStatus: Complete}"), "Succeeded");
  EXPECT_EQ(phase_of_source(api::kFournosJob, object("status: {phase: Admitted}")), "Admitted");
}

}  // namespace
}  // namespace athanor::cli::log_lines_test
