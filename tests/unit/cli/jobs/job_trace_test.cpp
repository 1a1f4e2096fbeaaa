// SPDX-License-Identifier: Apache-2.0
// History and fleet as files that the simulator reads.
#include "views/job_trace.hpp"

#include <gtest/gtest.h>

#include "embedded/lab/file/lab_file.hpp"
#include "kube/text/yaml.hpp"
#include "simulation/whatif/trace.hpp"
#include "views/fleet_file.hpp"

namespace athanor::views::job_trace_test {
namespace {

Object ended(const std::string& name, const std::string& created, const std::string& spec) {
  return Object(*yaml::parse(
      "metadata: {name: " + name + ", creationTimestamp: \"" + created + "\"}\nspec: " + spec +
      "\nstatus: {phase: Succeeded, completionTime: \"2026-01-31T10:00:00Z\", conditions: [{type: "
      "WorkloadAdmitted, status: \"True\", lastTransitionTime: \"2026-01-31T09:00:00Z\"}]}"));
}

TEST(JobTrace, IsReadByTheSimulator) {
  const JobTrace trace = trace_of(
      {ended("b", "2026-01-31T08:30:00Z",
             "{owner: 'ann, and bob', hardware: {gpuType: a100, gpuCount: 8}, priority: nightly}"),
       ended("a", "2026-01-31T08:00:00Z", "{owner: ann, cluster: c1}"),
       Object(*yaml::parse("{metadata: {name: c, creationTimestamp: '2026-01-31T08:00:00Z'}, spec: "
                           "{cluster: c1}, status: {phase: Running}}")),
       ended("d", "2026-01-31T08:00:00Z", "{owner: ann}")});
  EXPECT_EQ(trace.left_out, 2U);
  const auto read = whatif::parse_trace(trace.csv, "trace.csv");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->jobs.size(), 2U);
  EXPECT_EQ(read->jobs[0].cluster, "c1");
  EXPECT_EQ(read->jobs[1].submit, std::chrono::minutes(30));
  EXPECT_EQ(read->jobs[1].duration, std::chrono::hours(1));
  EXPECT_EQ(read->jobs[1].gpus, 8);
  EXPECT_EQ(read->jobs[1].priority, "nightly");
}

TEST(Fleet, IsReadByTheSimulator) {
  const Object queue(*yaml::parse(R"(
metadata: {name: cq}
spec:
  resourceGroups:
  - flavors:
    - {name: c1, resources: [{name: fournos/gpu-a100, nominalQuota: 8}, {name: fournos/cluster-slot, nominalQuota: 100}]}
    - {name: c2, resources: [{name: fournos/gpu-a100, nominalQuota: 4}]}
)"));
  Value other = queue.body();
  other.member("metadata").set("name", "other");
  const Object local(*yaml::parse(
      "{metadata: {name: fournos-queue, namespace: bench}, spec: {clusterQueue: cq}}"));
  const Value fleet =
      fleet_of({.ns = "bench",
                .cluster_queues = {queue, Object(other)},
                .local_queues = {local},
                .priorities = {Object(*yaml::parse("{metadata: {name: nightly}, value: 100}"))}});
  const auto lab = lab::parse_lab(yaml::print(fleet), "fleet.yaml");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  ASSERT_EQ(lab->clusters.size(), 2U);
  EXPECT_EQ(lab->clusters[0].name, "c1");
  EXPECT_EQ(lab->clusters[0].quota.at("fournos/gpu-a100"), "8") << "of the jobs' queue alone";
  EXPECT_EQ(lab->queues.front().name, "fournos-queue");
}

}  // namespace
}  // namespace athanor::views::job_trace_test
