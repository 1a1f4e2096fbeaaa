// SPDX-License-Identifier: Apache-2.0
// athanor submit: flags and files to FournosJobs.
#include "cli/jobs/job_builder.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::cli {
namespace {

TEST(JobBuilder, MakesAJobOfFlags) {
  SubmitOptions options{.cluster = "cluster-2",
                        .gpu = "a100:2",
                        .project = "LLM-d/nightly",
                        .args = {"cks"},
                        .config = {"model.batch_size=64", "model.name=tiny"},
                        .env = {"A=b=c"},
                        .priority = "manual",
                        .exclusive = true};
  const auto job = build_job(options, "ada");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(
      json::print(*job),
      R"({"apiVersion":"fournos.dev/v1","kind":"FournosJob","metadata":{"generateName":"llm-d-nightly-"},"spec":{"owner":"ada","cluster":"cluster-2","priority":"manual","hardware":{"gpuType":"a100","gpuCount":2},"forge":{"project":"LLM-d/nightly","args":["cks"],"configOverrides":{"model":{"batch_size":64,"name":"tiny"}}},"env":{"A":"b=c"},"exclusive":true}})");
}

struct Refusal {
  SubmitOptions options;
  const char* says;
};
class JobBuilderRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(JobBuilderRefusals, ShowTheFormTheyWant) {
  const auto job = build_job(GetParam().options, "");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().message, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Flags, JobBuilderRefusals,
    ::testing::Values(
        Refusal{{},
                "what shall run? give --project NAME (and --arg ...), or a manifest with -f FILE"},
        Refusal{{.gpu = "a100", .project = "p"},
                "--gpu a100: give type and count, as in --gpu a100:2"},
        Refusal{{.gpu = "a100:x", .project = "p"},
                "--gpu a100:x: give type and count, as in --gpu a100:2"},
        Refusal{{.gpu = "a100:0", .project = "p"},
                "--gpu a100:0: give type and count, as in --gpu a100:2"},
        Refusal{{.project = "p", .env = {"A"}}, "--env A: give it as NAME=VALUE"},
        Refusal{{.project = "p", .config = {"=1"}}, "--config =1: give it as NAME=VALUE"}));

TEST(JobFile, TakesExactlyOneFournosJob) {
  EXPECT_TRUE(
      read_job("apiVersion: fournos.dev/v1\nkind: FournosJob\nmetadata: {name: a}\n", "f").ok());
  const auto two = read_job("apiVersion: fournos.dev/v1\nkind: FournosJob\n---\nkind: Pod\n", "f");
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().message, "f: holds 2 objects; submit takes one FournosJob");
  const auto other = read_job("apiVersion: v1\nkind: Pod\n", "f");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "f: is a \"Pod\" of \"v1\", not a FournosJob of fournos.dev/v1");
}

}  // namespace
}  // namespace athanor::cli
