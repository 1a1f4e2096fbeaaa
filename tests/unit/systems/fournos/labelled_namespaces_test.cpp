// SPDX-License-Identifier: Apache-2.0
// Jobs in further namespaces of a lab, and the least time that a job stays in a phase.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lab.hpp"

namespace athanor::fournos::labelled_namespaces_test {
namespace {

class LabelledNamespaces : public Lab {
 protected:
  LabelledNamespaces() {
    put("{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: "
        "{fournos.dev/queue-access: 'true'}}}");
    put("{apiVersion: v1, kind: Namespace, metadata: {name: other}}");
  }

  void settle_labelled() {
    std::vector<const Operator*> all(fournos_operators().begin(), fournos_operators().end());
    all.insert(all.end(), labelled_operators().begin(), labelled_operators().end());
    world.settle(all);
  }

  void submit_in(const std::string& ns) {
    world.put(
        yaml_value("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: job, "
                   "namespace: " +
                   ns + "}, spec: " + kShared + "}"));
    settle_labelled();
  }
};

TEST_F(LabelledNamespaces, RunJobsWithPipelinesOfTheirOwn) {
  submit_in("team");
  const Key job{"team", "job"};
  EXPECT_EQ(world.must(api::kFournosJob, job).status()["phase"], Value("Pending"));
  world.update(api::kueue::kWorkload, job, [&](Value& object) {
    object.set("status", yaml_value(R"({conditions: [{type: QuotaReserved, status: "True"},
        {type: Admitted, status: "True", reason: Admitted}], admission: {podSetAssignments:
        [{name: launcher, flavors: {fournos/cluster-slot: cluster-1}}]}})"));
  });
  settle_labelled();
  EXPECT_EQ(world.must(api::kFournosJob, job).status()["phase"], Value("Running"));
  EXPECT_TRUE(world.has(api::kPipelineRun, job));
  world.remove(api::kFournosJob, job);
  std::vector<const Operator*> all(labelled_operators().begin(), labelled_operators().end());
  world.settle_for(all, std::chrono::minutes(6));
  EXPECT_FALSE(world.has(api::kPipelineRun, job));
}

TEST_F(LabelledNamespaces, GetALocalQueue) {
  settle_labelled();
  EXPECT_EQ(world.must(api::kueue::kLocalQueue, {"team", "fournos-queue"}).spec()["clusterQueue"],
            Value("fournos-queue"));
  EXPECT_EQ(world.count(api::kueue::kLocalQueue), 1U);
}

TEST_F(LabelledNamespaces, ReportJobsInOtherNamespaces) {
  submit_in("other");
  EXPECT_EQ(world.event_count("NamespaceNotServed", "job"), 1);
  EXPECT_TRUE(world.must(api::kFournosJob, {"other", "job"}).status().is_null());
  world.update(api::kNamespace, {"", "other"}, [](Value& object) {
    object.set_path({"metadata", "labels", kQueueAccessLabel}, "true");
  });
  settle_labelled();
  EXPECT_EQ(world.must(api::kFournosJob, {"other", "job"}).status()["phase"], Value("Pending"));
}

class Pace : public Lab {};

TEST_F(Pace, JobsStayInEachPhase) {
  configure({{"FOURNOS_MIN_PHASE_SEC", "4"}});
  submit("job", kShared);
  EXPECT_EQ(phase("job"), "Pending");
  admit("job", "cluster-1");
  EXPECT_EQ(phase("job"), "Pending");
  settle_for(std::chrono::seconds(3));
  EXPECT_EQ(phase("job"), "Pending");
  settle_for(std::chrono::seconds(3));
  EXPECT_EQ(phase("job"), "Admitted");
  settle_for(std::chrono::seconds(6));
  EXPECT_EQ(phase("job"), "Running");
  run_says("job", "True", "", true);
  EXPECT_EQ(phase("job"), "Running");
  settle_for(std::chrono::seconds(6));
  EXPECT_EQ(phase("job"), "Succeeded");
}

TEST_F(Pace, ShutdownIsNotHeld) {
  configure({{"FOURNOS_RECONCILE_MODE", "poll"}});
  submit("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& job) {
    job.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(phase("job"), "Stopped");
}

}  // namespace
}  // namespace athanor::fournos::labelled_namespaces_test
