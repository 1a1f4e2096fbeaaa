// SPDX-License-Identifier: Apache-2.0
// Eviction (8.4), shutdown (11), locks (13) and garbage collection (14).
#include "lab.hpp"
#include "runtime/view/live.hpp"

namespace athanor::fournos {
namespace {

using Eviction = Lab;
using Shutdown = Lab;
using LockOnly = Lab;
using Collection = Lab;

// Kueue evicts an admitted Workload that nobody calls ready.
TEST_F(Eviction, TheWorkloadIsReadyOnceTheRunExists) {
  submit("job", kShared);
  const auto ready = [&] {
    return world.condition(api::kueue::kWorkload, key("job"), "PodsReady")["status"].str();
  };
  EXPECT_EQ(ready(), "");
  admit("job", "cluster-1");
  EXPECT_TRUE(has_run("job"));
  EXPECT_EQ(ready(), "True");
  workload_says("job", "PodsReady", "False", "WaitForStart", "from before an upgrade");
  EXPECT_EQ(ready(), "True");
}

TEST_F(Eviction, RequeueCancelsThenStartsAnew) {
  start("job", kShared);
  workload_says("job", "Evicted", "True", "Preempted", "Preempted to accommodate a workload");
  EXPECT_EQ(run("job").spec()["status"], Value("CancelledRunFinally"));
  EXPECT_EQ(phase("job"), "Running");
  EXPECT_EQ(message("job"), "Evicted by Kueue (Preempted), waiting for PipelineRun cleanup");
  EXPECT_EQ(condition("job", "WorkloadAdmitted"),
            "False/Evicted Preempted to accommodate a workload");
  const std::string old(workload("job").uid());
  run_says("job", "False", "PipelineRun \"job\" was cancelled", true);
  EXPECT_FALSE(has_run("job"));
  EXPECT_EQ(phase("job"), "Pending");
  EXPECT_NE(workload("job").uid(), old);
  EXPECT_EQ(status("job")["evictions"].as_int(), 1);
  EXPECT_FALSE(status("job").contains("cluster"));
  EXPECT_FALSE(status("job").contains("pipelineRun"));
  bool said = false;
  for (const test::Write& write : world.writes) {
    said = said || (write.body["message"].as_string() == "Evicted by Kueue (Preempted), requeued" &&
                    write.body["phase"].as_string() == "Pending");
  }
  EXPECT_TRUE(said);
  admit("job", "cluster-2");
  EXPECT_EQ(phase("job"), "Running");
  run_says("job", "True", "", true);
  EXPECT_EQ(phase("job"), "Succeeded");
  EXPECT_EQ(status("job")["cluster"], Value("cluster-2"));
}

TEST_F(Eviction, CancellingIsAskedForOnce) {
  start("job", kShared);
  workload_says("job", "Evicted", "True", "Preempted", "m");
  const std::size_t before = write_count();
  run_says("job", "Unknown", "Tasks Completed: 1", false);
  settle_for(std::chrono::hours(1));
  EXPECT_EQ(write_count(), before);
}

TEST_F(Eviction, ReasonsWithoutTheCondition) {
  start("lost", kShared);
  workload_says("lost", "Admitted", "False", "NoReservation", "The workload has no reservation");
  EXPECT_EQ(message("lost"), "Evicted by Kueue (AdmissionLost), waiting for PipelineRun cleanup");
  start("gone", kShared);
  world.remove(api::kueue::kWorkload, key("gone"));
  settle();
  EXPECT_EQ(message("gone"), "Evicted by Kueue (WorkloadDeleted), waiting for PipelineRun cleanup");
}

TEST_F(Eviction, FailPolicy) {
  configure({{"FOURNOS_EVICTION_POLICY", "fail"}});
  start("job", kShared);
  workload_says("job", "Evicted", "True", "ClusterQueueStopped", "The ClusterQueue is stopped");
  EXPECT_EQ(phase("job"), "Running");
  run_says("job", "False", "cancelled", true);
  EXPECT_EQ(phase("job"), "Failed");
  EXPECT_EQ(message("job"), "Evicted by Kueue (ClusterQueueStopped)");
  EXPECT_EQ(condition("job", "WorkloadAdmitted"), "False/Evicted The ClusterQueue is stopped");
  EXPECT_FALSE(has_workload("job"));
  EXPECT_TRUE(has_run("job"));
}

TEST_F(Eviction, IgnorePolicyIsUpstreams) {
  configure({{"FOURNOS_EVICTION_POLICY", "ignore"}});
  start("job", kShared);
  workload_says("job", "Evicted", "True", "Preempted", "m");
  EXPECT_FALSE(run("job").spec().contains("status"));
  run_says("job", "True", "", true);
  EXPECT_EQ(phase("job"), "Succeeded");
}

TEST_F(Eviction, RunThatEndedBeforeCounts) {
  start("job", kShared);
  world.update(api::kPipelineRun, key("job"), [](Value& object) {
    object.set("status", yaml_value(R"({conditions: [{type: Succeeded, status: "True"}]})"));
  });
  workload_says("job", "Evicted", "True", "Preempted", "m");
  EXPECT_EQ(phase("job"), "Succeeded");
}

// A lagging view shows the run going on and its Workload, deleted by our own last step, gone.
TEST_F(Eviction, ARunWhoseEndIsNotSeenYetIsLeftAlone) {
  start("job", kShared);
  const auto truth = world.probes["live"];
  world.probes["live"] = [this, truth](test::FakeWorld& seen, std::string_view text) {
    const auto query = LiveQuery::parse(text);
    if (!query || query->kind != "PipelineRun") {
      return truth(seen, text);
    }
    Value ended = run("job").body();
    ended.set("status", yaml_value(R"({completionTime: "2026-01-05T00:10:00Z",
        conditions: [{type: Succeeded, status: "True"}]})"));
    return Result<Value>(LiveQuery::answer({Object(ended)}));
  };
  world.remove(api::kueue::kWorkload, key("job"));
  settle();
  EXPECT_FALSE(run("job").spec().contains("status"));
  EXPECT_EQ(status("job")["evictions"].as_int(), 0);
  run_says("job", "True", "", true);
  EXPECT_EQ(phase("job"), "Succeeded");
}

TEST_F(Eviction, AJobThatIsDeletedMeanwhileIsNotRunAgain) {
  submit("job", kShared);
  const auto truth = world.probes["live"];
  world.probes["live"] = [truth](test::FakeWorld& seen, std::string_view text) {
    const auto query = LiveQuery::parse(text);
    return query && query->kind == "FournosJob" ? Result<Value>(LiveQuery::answer({}))
                                                : truth(seen, text);
  };
  admit("job", "cluster-1");
  settle_for(std::chrono::minutes(1));
  EXPECT_FALSE(has_run("job"));
  world.probes["live"] = truth;
  settle_for(std::chrono::seconds(5));
  EXPECT_TRUE(has_run("job")) << "it was there after all";
}

TEST_F(Shutdown, StopEndsARunGracefully) {
  start("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(run("job").spec()["status"], Value("CancelledRunFinally"));
  EXPECT_EQ(condition("job", "PipelineRunReady"),
            "False/Stopping PipelineRun cancellation requested (graceful=True)");
  EXPECT_EQ(phase("job"), "Stopping");
  EXPECT_EQ(message("job"), "Stopping, waiting for PipelineRun cleanup");
  EXPECT_EQ(world.event_count("Stopping", "job"), 1);
  EXPECT_TRUE(has_workload("job"));
  run_says("job", "Unknown", "Tasks Completed: 1", false);
  EXPECT_EQ(message("job"), "Stopping, waiting for cleanup: Tasks Completed: 1");
  run_says("job", "False", "PipelineRun \"job\" was cancelled", true);
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_EQ(message("job"), "Job stopped by user");
  EXPECT_EQ(condition("job", "WorkloadAdmitted"), "False/Stopped Job stopped by user");
  EXPECT_EQ(condition("job", "PipelineRunReady"),
            "False/Stopped PipelineRun \"job\" was cancelled");
  EXPECT_FALSE(has_workload("job"));
  EXPECT_TRUE(has_run("job"));
}

TEST_F(Shutdown, StopBecomesTerminate) {
  start("job", kShared);
  for (const char* mode : {"Stop", "Terminate"}) {
    world.update(api::kFournosJob, key("job"), [&](Value& object) {
      object.set_path({"spec", "shutdown"}, mode);
    });
    settle();
  }
  EXPECT_EQ(run("job").spec()["status"], Value("Cancelled"));
  EXPECT_EQ(condition("job", "PipelineRunReady"),
            "False/Stopping PipelineRun cancellation requested (graceful=False)");
}

TEST_F(Shutdown, RunThatIsGone) {
  start("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Terminate");
  });
  settle();
  world.remove(api::kPipelineRun, key("job"));
  settle();
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_EQ(condition("job", "PipelineRunReady"), "False/Stopped PipelineRun not found");
}

TEST_F(Shutdown, WhilePending) {
  submit("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_EQ(condition("job", "WorkloadAdmitted"), "False/Stopped Job stopped by user");
  EXPECT_FALSE(has_workload("job"));
}

// A27.
TEST_F(Shutdown, AfterTheRunEndedTheJobEndsAsTheRunDid) {
  start("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  world.update(api::kPipelineRun, key("job"), [](Value& object) {
    object.set("status", yaml_value(R"({conditions: [{type: Succeeded, status: "True"}]})"));
  });
  settle();
  EXPECT_EQ(phase("job"), "Succeeded");
}

TEST_F(Shutdown, OfAFinishedJobChangesNothing) {
  start("job", kShared);
  run_says("job", "True", "", true);
  const std::size_t before = write_count();
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(write_count(), before);
}

TEST_F(LockOnly, HoldsUntilReleased) {
  submit("cluster-lock-1",
         "{cluster: cluster-1, exclusive: true, lockOnly: true, executionEngine: {none: {}}, "
         "hardware: {gpuType: a100, gpuCount: 1}}");
  EXPECT_EQ(status_writes("cluster-lock-1").at(0)["conditions"][0]["message"],
            Value("Lock workload created, waiting for Kueue admission"));
  EXPECT_EQ(workload("cluster-lock-1")
                .spec()["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"],
            yaml_value(R"({fournos/cluster-slot: "100"})"));
  admit("cluster-lock-1", "cluster-1");
  EXPECT_EQ(phase("cluster-lock-1"), "Admitted");
  EXPECT_EQ(message("cluster-lock-1"), "Cluster lock held on cluster-1");
  EXPECT_FALSE(has_run("cluster-lock-1"));
  settle_for(std::chrono::hours(24));
  EXPECT_EQ(phase("cluster-lock-1"), "Admitted");
  world.update(api::kFournosJob, key("cluster-lock-1"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(phase("cluster-lock-1"), "Stopped");
  EXPECT_FALSE(has_workload("cluster-lock-1"));
}

// docs/spec/hearth.md section 0: a cluster that Hearth knows is usable in either dialect.
TEST_F(LockOnly, HearthsKubeconfigServesBothDialects) {
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-1, namespace: "
      "hearth}, spec: {kubeconfigSecret: my-access}}");
  put("{apiVersion: v1, kind: Secret, metadata: {name: my-access, namespace: psap-secrets}, data: "
      "{kubeconfig: bW9jaw==}}");
  const auto kubeconfig_of = [&](const std::string& name) {
    for (const Value& param : run(name).spec()["params"].items()) {
      if (param["name"].as_string() == "kubeconfig-secret") {
        return param["value"].str();
      }
    }
    return std::string();
  };
  start("seed", kShared);
  EXPECT_EQ(kubeconfig_of("seed"), "seed-kubeconfig");
  EXPECT_EQ(world.must(api::kSecret, key("seed-kubeconfig")).body()["data"]["kubeconfig"],
            Value("bW9jaw=="));
  run_says("seed", "True", "", true);
  settle_for(std::chrono::minutes(5));
  EXPECT_FALSE(world.has(api::kSecret, key("seed-kubeconfig")));
  put("{apiVersion: v1, kind: Secret, metadata: {name: cluster-1-kubeconfig, namespace: bench}}");
  start("own", kShared);
  EXPECT_EQ(kubeconfig_of("own"), "cluster-1-kubeconfig");
  EXPECT_FALSE(world.has(api::kSecret, key("own-kubeconfig")));
}

// docs/spec/hearth.md 9.3: a lock keeps its place in the queue, whatever the policy.
TEST_F(LockOnly, AnEvictedLockWaitsWithItsWorkload) {
  for (const char* policy : {"requeue", "fail", "ignore"}) {
    SCOPED_TRACE(policy);
    configure({{"FOURNOS_EVICTION_POLICY", policy}});
    const std::string lock = std::string("lock-") + policy;
    submit(lock, "{cluster: cluster-1, lockOnly: true, executionEngine: {none: {}}}");
    EXPECT_EQ(workload(lock).label("fournos.dev/cluster-lock"), "cluster-1");
    admit(lock, "cluster-1");
    EXPECT_EQ(phase(lock), "Admitted");
    const std::string uid(workload(lock).uid());
    workload_says(lock, "Evicted", "True", "Preempted", "Preempted to accommodate a workload");
    EXPECT_EQ(phase(lock), "Pending");
    EXPECT_EQ(workload(lock).uid(), uid);
    EXPECT_FALSE(workload(lock).status().contains("admission"));
    workload_says(lock, "Evicted", "False", "QuotaReserved", "");
    admit(lock, "cluster-1");
    EXPECT_EQ(phase(lock), "Admitted");
  }
}

TEST_F(LockOnly, LockWithAnEnd) {
  submit("lock", "{cluster: cluster-1, lockUntil: '2026-01-05T08:00:00Z'}");
  admit("lock", "cluster-1");
  settle_for(std::chrono::hours(7));
  EXPECT_EQ(phase("lock"), "Admitted");
  settle_for(std::chrono::hours(1));
  EXPECT_EQ(phase("lock"), "Succeeded");
  EXPECT_EQ(message("lock"), "Cluster lock expired");
  EXPECT_FALSE(has_workload("lock"));
}

Value stray(const char* version, const char* kind, const char* labels) {
  Value object = Value::object({{"apiVersion", version}, {"kind", kind}});
  object.set("metadata", yaml_value("{name: stray, namespace: bench}"));
  object.set_path({"metadata", "labels"}, yaml_value(labels));
  return object;
}

// A13.
TEST_F(Collection, StraysGoAfterAnInterval) {
  const char* ours = "{app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: nobody}";
  world.put(stray("kueue.x-k8s.io/v1beta2", "Workload", ours));
  world.put(stray("tekton.dev/v1", "PipelineRun", ours));
  world.put(stray("batch/v1", "Job", ours));
  settle();
  EXPECT_TRUE(has_workload("stray"));
  settle_for(std::chrono::seconds(299));
  EXPECT_TRUE(has_workload("stray"));
  settle_for(std::chrono::seconds(2));
  EXPECT_FALSE(has_workload("stray"));
  EXPECT_FALSE(has_run("stray"));
  EXPECT_FALSE(world.has(api::kJob, key("stray")));
}

TEST_F(Collection, KeepsWhatIsNotProvenStray) {
  world.put(stray("kueue.x-k8s.io/v1beta2", "Workload", "{app.kubernetes.io/managed-by: fournos}"));
  world.put(stray("tekton.dev/v1", "PipelineRun", "{fournos.dev/job-name: nobody}"));
  world.put(stray("v1", "Secret", "{app.kubernetes.io/managed-by: fournos}"));
  start("job", kShared);
  settle_for(std::chrono::hours(1));
  EXPECT_TRUE(has_workload("stray"));
  EXPECT_TRUE(has_run("stray"));
  EXPECT_TRUE(world.has(api::kSecret, key("stray")));
  EXPECT_TRUE(has_workload("job"));
  EXPECT_TRUE(has_run("job"));
}

TEST_F(Collection, QuotaOfAFinishedJobGoesAtOnce) {
  start("job", kShared);
  run_says("job", "True", "", true);
  world.put(stray("kueue.x-k8s.io/v1beta2", "Workload",
                  "{app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: job}"));
  settle_for(std::chrono::seconds(5));
  EXPECT_FALSE(has_workload("stray"));
}

// Found by the simulator: the operator died between making the Workload and writing the phase.
TEST_F(Shutdown, BeforeThePhaseIsWritten) {
  bool down = false;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    down = down || std::holds_alternative<Status>(step);
    return down ? std::optional(Error::unavailable("crash")) : std::nullopt;
  };
  submit("job", kShared);
  EXPECT_TRUE(has_workload("job"));
  world.fault = {};
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_FALSE(has_workload("job"));
}

TEST_F(Collection, ChildrenOfAnEarlierJobOfThatName) {
  submit("job", "");
  Value secret = stray("v1", "Secret", "{app.kubernetes.io/managed-by: fournos}");
  secret.set_path(
      {"metadata", "ownerReferences"},
      yaml_value("[{apiVersion: fournos.dev/v1, kind: FournosJob, name: job, uid: old}]"));
  world.put(secret);
  settle_for(std::chrono::minutes(6));
  EXPECT_FALSE(world.has(api::kSecret, key("stray")));
}

}  // namespace
}  // namespace athanor::fournos
