// SPDX-License-Identifier: Apache-2.0
// The console compares jobs as `athanor compare` does: same rows, same numbers.
#include <gtest/gtest.h>

#include "console/data/job_pipeline.hpp"
#include "kube/text/yaml.hpp"
#include "views/comparison.hpp"

namespace athanor::console::job_comparison_test {
namespace {

Object job(const char* name, int batch) {
  return Object(yaml::parse("metadata: {name: " + std::string(name) +
                            ", namespace: a}\nspec: {batch: " + std::to_string(batch) +
                            "}\nstatus: {phase: Succeeded}")
                    .value());
}

JobPipeline run(const char* end, const char* throughput) {
  JobPipeline pipeline;
  pipeline.run =
      Object(yaml::parse("metadata: {name: r}\nstatus: {results: [{name: throughput, value: '" +
                         std::string(throughput) + "'}]}")
                 .value());
  pipeline.tasks.emplace_back(
      yaml::parse("metadata: {name: t, labels: {tekton.dev/pipelineTask: measure}}\n"
                  "status: {startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:" +
                  std::string(end) + "Z'}")
          .value());
  return pipeline;
}

TEST(JobComparison, HasNumbersOfTheCommandLine) {
  const std::vector<Object> jobs{job("x", 16), job("y", 64)};
  const std::vector<JobPipeline> runs{run("10", "100"), run("15", "150")};
  const Value shown = comparison_of(jobs, runs, Instant());
  std::vector<views::JobRecord> records;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    records.push_back({.job = jobs[i], .run = runs[i].run, .task_runs = runs[i].tasks});
  }
  const auto same = views::compare_jobs(records, views::Parameters::Different, Instant());
  ASSERT_EQ(same.parameters.size(), 1U);
  ASSERT_EQ(shown["spec"].size(), 1U);
  EXPECT_EQ(shown["spec"][0]["path"].as_string(), same.parameters[0].name);
  EXPECT_EQ(shown["spec"][0]["values"][1].as_string(), "64");
  ASSERT_EQ(shown["tasks"].size(), same.durations.size());
  EXPECT_EQ(shown["tasks"][0]["seconds"][1].as_double(), 15.0);
  ASSERT_EQ(shown["results"].size(), 1U);
  EXPECT_EQ(shown["results"][0]["differencePercent"].as_double(), 50.0);
}

}  // namespace
}  // namespace athanor::console::job_comparison_test
