// SPDX-License-Identifier: Apache-2.0
// Descriptions of objects, and the names of subjects.
#include "views/describe.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files/time_zone_files.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::views::describe_test {
namespace {

Object object(const std::string& text) {
  return Object(*yaml::parse(text));
}

const Instant kNow = *parse_time("2026-01-01T01:00:00Z");

Object failed_job() {
  return object(R"(
apiVersion: fournos.dev/v1
kind: FournosJob
metadata: {name: j, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {owner: ann, cluster: edge, hardware: {gpuType: a100, gpuCount: 2}}
status:
  phase: Failed
  cluster: edge
  message: "Tasks Completed: 1 (Failed: 1, Cancelled 0), Skipped: 0"
  completionTime: "2026-01-01T00:10:00Z"
  conditions:
  - {type: WorkloadAdmitted, status: "True", reason: Admitted, message: Assigned to cluster edge, lastTransitionTime: "2026-01-01T00:01:00Z"}
  - {type: PipelineRunReady, status: "False", reason: Failed, message: failed, lastTransitionTime: "2026-01-01T00:10:00Z"}
)");
}

Object failed_task() {
  return object(R"(
kind: TaskRun
metadata: {name: j-run, namespace: ns, labels: {fournos.dev/job-name: j, tekton.dev/pipelineTask: run}}
status:
  startTime: "2026-01-01T00:02:00Z"
  completionTime: "2026-01-01T00:09:00Z"
  steps: [{name: measure, container: step-measure, terminated: {exitCode: 7, finishedAt: "2026-01-01T00:09:00Z"}}]
)");
}

TEST(Describe, ShowsJobWithTimelineAndCause) {
  Description description = describe_job(failed_job(), {failed_task()}, kNow);
  add_events(description,
             {object("{kind: Event, involvedObject: {kind: TaskRun, name: j-run}, type: Warning, "
                     "reason: Failed, message: no, count: 3, lastTimestamp: "
                     "\"2026-01-01T00:09:00Z\"}"),
              object("{kind: Event, involvedObject: {kind: Pod, name: other}, lastTimestamp: "
                     "\"2026-01-01T00:09:00Z\"}")});
  const Value value = description.to_value();
  EXPECT_EQ(value["facts"]["Cause"].as_string(), "step-measure exited with code 7");
  EXPECT_EQ(value["facts"]["Duration"].as_string(), "9m");
  EXPECT_EQ(value["facts"]["GPUs"].as_string(), "2 a100");
  ASSERT_EQ(value["timeline"].size(), 4U);
  EXPECT_EQ(value["timeline"][0]["what"].as_string(), "created");
  EXPECT_EQ(value["timeline"][0]["seconds"].as_double(), 60);
  EXPECT_EQ(value["timeline"][2]["what"].as_string(), "task run, step-measure exited with code 7");
  EXPECT_EQ(value["timeline"][2]["seconds"].as_double(), 420);
  ASSERT_EQ(value["events"].size(), 1U);
  EXPECT_EQ(value["events"][0]["count"].as_int(), 3);
  const std::string text = description.text(kNow);
  for (const char* part :
       {"FournosJob ns/j\n", "Cause", "Timeline", "Children", "Events", "TaskRun   j-run"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Describe, ShowsClusterWithJobsAndTroubles) {
  const Object cluster = object(
      "{kind: FournosCluster, metadata: {name: edge, namespace: hearth}, spec: {owner: ann}, "
      "status: "
      "{kubeconfigStatus: Valid, gpuSummary: 8x A100, lockState: Held, lockExpiresAt: t, "
      "conditions: "
      "[{type: GPUDiscovered, status: \"False\", reason: DiscoveryFailed, message: HTTP 403 "
      "Forbidden}]}}");
  Object running = object(
      "{kind: FournosJob, metadata: {name: r, namespace: ns}, status: {phase: Running, cluster: "
      "edge}}");
  const Value value = describe_cluster(cluster, {running, failed_job()}, {}).to_value();
  EXPECT_EQ(value["facts"]["State"].as_string(), "DiscoveryFailed");
  EXPECT_EQ(value["facts"]["Lock expires"].as_string(), "t");
  ASSERT_EQ(value["children"].size(), 1U);
  EXPECT_EQ(value["children"][0]["name"].as_string(), "r");
  EXPECT_EQ(value["why"].as_string(), "GPUDiscovered: DiscoveryFailed: HTTP 403 Forbidden\n");
}

TEST(Describe, ShowsClustersOfTheQueueAlone) {
  const Object flavor = object("{kind: ResourceFlavor, metadata: {name: edge}}");
  const Object queue = object(
      "{metadata: {name: q}, spec: {resourceGroups: [{coveredResources: [fournos/gpu-a100], "
      "flavors: [{name: edge, resources: [{name: fournos/gpu-a100, nominalQuota: 8}]}]}]}}");
  const Object running = object(
      "{kind: FournosJob, metadata: {name: r, namespace: ns}, status: {phase: Running, cluster: "
      "edge}}");
  const Value value =
      describe_bare_cluster(flavor, {running, failed_job()}, {queue}, "hearth").to_value();
  EXPECT_EQ(value["facts"]["GPUs"].as_string(), "8x A100");
  EXPECT_EQ(value["facts"]["Queues"].as_string(), "q");
  EXPECT_EQ(value["children"].size(), 1U);
  EXPECT_NE(value["why"].as_string().find("edge is in the queue alone"), std::string::npos);
  EXPECT_NE(value["why"].as_string().find("namespace hearth"), std::string::npos);
}

TEST(Describe, ShowsScheduleWithStartsAndRuns) {
  const auto cron = [](const std::string& spec, const std::string& annotation) {
    return object(
        "{kind: CronJob, metadata: {name: nightly, namespace: ns, creationTimestamp: "
        "\"2026-01-01T00:00:00Z\", labels: {fournos-launcher/managed-by: fournos-dashboard}, "
        "annotations: {fournos-launcher/project: llmd" +
        annotation + "}}, spec: {schedule: 0 2 * * *, timeZone: Europe/Berlin" + spec +
        "}, status: {lastScheduleTime: \"2026-01-01T00:30:00Z\"}}");
  };
  const Object start = object(
      "{kind: Job, metadata: {name: nightly-1, creationTimestamp: \"2026-01-01T00:30:00Z\"}, "
      "status: {startTime: \"2026-01-01T00:30:00Z\", completionTime: \"2026-01-01T00:30:05Z\", "
      "conditions: [{type: Complete, status: \"True\", reason: CompletionsReached}]}}");
  const Object job = object(
      "{kind: FournosJob, metadata: {name: nightly-1, creationTimestamp: "
      "\"2026-01-01T00:30:04Z\"}, status: {phase: Running}}");
  const Value value =
      describe_schedule(cron("", ""), {start, job}, kNow, find_time_zone).to_value();
  EXPECT_EQ(value["facts"]["State"].as_string(), "Active");
  EXPECT_EQ(value["facts"]["Project"].as_string(), "llmd");
  EXPECT_EQ(value["facts"]["Next start 2"].as_string(), "2026-01-03 02:00:00 +01:00 (in 2d)");
  EXPECT_TRUE(value["facts"].contains("Next start 5"));
  ASSERT_EQ(value["children"].size(), 2U);
  EXPECT_EQ(value["children"][0]["state"].as_string(), "Running");
  EXPECT_EQ(value["children"][1]["state"].as_string(), "Complete");
  EXPECT_EQ(value["timeline"][1]["what"].as_string(), "start nightly-1");
  EXPECT_EQ(value["timeline"][1]["seconds"].as_double(), 5);
  const Value paused =
      describe_schedule(
          cron(", suspend: true", ", fournos-launcher/paused-until: \"2026-02-01T00:00:00Z\""), {},
          kNow, find_time_zone)
          .to_value();
  EXPECT_EQ(paused["facts"]["Paused until"].as_string(), "2026-02-01T00:00:00Z");
  EXPECT_NE(paused["why"].as_string().find("schedules resume nightly"), std::string::npos);
  EXPECT_FALSE(paused["facts"].contains("Next start 1"));
}

std::string subjects(const std::vector<std::string>& words) {
  const auto parsed = parse_subjects(words);
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.error().reason, kWrongUsage);
    return parsed.error().message;
  }
  std::string text;
  for (const SubjectName& one : *parsed) {
    text += std::to_string(static_cast<int>(one.kind)) + one.name + " ";
  }
  return text;
}

TEST(Subjects, AreKindsAndNames) {
  EXPECT_EQ(subjects({"jobs/a", "fournosjob.fournos.dev/b", "c"}), "0a 0b 0c ");
  EXPECT_EQ(subjects({"clusters", "a", "b"}), "1a 1b ");
  EXPECT_EQ(subjects({"schedules/a", "cronjob.batch/b"}), "7a 7b ");
  EXPECT_EQ(subjects({"fournosjob.v1.fournos.dev/a", "resourceflavor.kueue.x-k8s.io/b",
                      "nodeaccelerator.inference.redhat.com/c",
                      "noderesourcetopology.topology.node.k8s.io/d"}),
            "0a 1b 4c 5d ")
      << "as lists print names";
  EXPECT_NE(subjects({"job.batch/a"}).find("unknown kind \"job.batch\""), std::string::npos);
  EXPECT_EQ(subjects({"jobs"}), "0jobs ") << "a job may have this name";
  EXPECT_NE(subjects({"clustr/a"}).find("did you mean cluster?"), std::string::npos);
  EXPECT_EQ(subjects({"jobs/"}), "jobs/: the name is missing");
  EXPECT_EQ(subjects({}), "say what: KIND/NAME, as jobs/my-job");
}

}  // namespace
}  // namespace athanor::views::describe_test
