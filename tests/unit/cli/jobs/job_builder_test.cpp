// SPDX-License-Identifier: Apache-2.0
// athanor submit: flags and files to FournosJobs.
#include "cli/jobs/job_builder.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::cli::job_builder_test {
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

TEST(JobBuilder, SetsEveryFieldOfTheSpec) {
  const SubmitOptions options{.name = "lock",
                              .owner = "bob",
                              .cluster = "c",
                              .secret_refs = {"s"},
                              .ttl = "2d",
                              .engine = "{caliper: {suite: a}}",
                              .lock_until = "2026-02-01T00:00:00Z",
                              .start_at = "2026-01-31T00:00:00Z",
                              .labels = {"suite=nightly"},
                              .annotations = {"a/b=c=d"},
                              .lock_only = true,
                              .clusterless = true};
  const auto job = build_job(options, "ada");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(
      json::print(*job),
      R"({"apiVersion":"fournos.dev/v1","kind":"FournosJob","metadata":{"labels":{"suite":"nightly"},"annotations":{"a/b":"c=d"},"name":"lock"},"spec":{"owner":"bob","cluster":"c","executionEngine":{"caliper":{"suite":"a"}},"secretRefs":["s"],"ttl":"2d","lockUntil":"2026-02-01T00:00:00Z","scheduledStartTime":"2026-01-31T00:00:00Z","lockOnly":true,"clusterless":true}})");
}

constexpr const char* kOne = "apiVersion: fournos.dev/v1\nkind: FournosJob\nmetadata: {name: a}\n";

TEST(JobFile, TakesDocumentsAndLists) {
  const auto two = read_jobs(std::string(kOne) + "---\n" + kOne + "---\n", "f");
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(two->size(), 2U);
  const auto list = read_jobs(
      "{apiVersion: v1, kind: List, items: [{apiVersion: fournos.dev/v1, kind: FournosJob, "
      "metadata: {name: a}}]}",
      "f");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->front()["metadata"]["name"].as_string(), "a");
}

TEST(JobFile, NamesEveryDocumentThatIsNoJob) {
  const auto other = read_jobs("apiVersion: v1\nkind: Pod\n", "f");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "f: is a \"Pod\" of \"v1\", not a FournosJob of fournos.dev/v1");
  const auto several = read_jobs(std::string(kOne) + "---\nkind: Pod\n---\nkind: Job\n", "f");
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().message,
            "f, document 2: is a \"Pod\" of null, not a FournosJob of fournos.dev/v1\n"
            "f, document 3: is a \"Job\" of null, not a FournosJob of fournos.dev/v1");
  EXPECT_EQ(read_jobs("", "f").error().message, "f: holds no object");
}

TEST(JobFile, ReadsGoodDocumentsBesideBrokenOnes) {
  const std::string text =
      std::string(kOne) + "---\nkind: Pod\n---\na: [1\n---\n" + kOne + "---\nb: {\n";
  const JobBatch batch = read_job_documents(text, "f");
  ASSERT_EQ(batch.jobs.size(), 2U);
  EXPECT_EQ(batch.jobs[0].place, "f, document 1");
  ASSERT_EQ(batch.problems.size(), 3U);
  EXPECT_EQ(batch.jobs[1].place, "f, document 4");
  EXPECT_EQ(batch.problems[0].find("f, document 3: "), 0U) << batch.problems[0];
  // The lines are those of the file.
  EXPECT_NE(batch.problems[0].find("line 8"), std::string::npos) << batch.problems[0];
  EXPECT_NE(batch.problems[1].find("line 14"), std::string::npos) << batch.problems[1];
  EXPECT_EQ(batch.problems[2],
            "f, document 2: is a \"Pod\" of null, not a FournosJob of fournos.dev/v1");
}

// athanor jobs X -o yaml | athanor submit -f -
TEST(JobFile, RenamesCopyOfStoredJob) {
  const auto copy = read_jobs(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: Nightly-1, uid: u, "
      "resourceVersion: \"7\", generation: 2, creationTimestamp: \"2026-01-01T00:00:00Z\", labels: "
      "{a: b}, ownerReferences: [{name: x}]}, spec: {owner: ann, shutdown: Stop}, status: {phase: "
      "Stopped}}",
      "f");
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(
      json::print(copy->front()),
      R"({"apiVersion":"fournos.dev/v1","kind":"FournosJob","metadata":{"labels":{"a":"b"},"generateName":"nightly-1-"},"spec":{"owner":"ann"}})");
  Value job = copy->front();
  EXPECT_TRUE(override_job(job, {.name = "again", .cluster = "c", .gpu = "h200:4"}).ok());
  EXPECT_EQ(
      json::print(job),
      R"({"apiVersion":"fournos.dev/v1","kind":"FournosJob","metadata":{"labels":{"a":"b"},"name":"again"},"spec":{"owner":"ann","cluster":"c","hardware":{"gpuType":"h200","gpuCount":4}}})");
}

}  // namespace
}  // namespace athanor::cli::job_builder_test
