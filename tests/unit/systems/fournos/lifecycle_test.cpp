// SPDX-License-Identifier: Apache-2.0
// Eviction (docs/spec/fournos.md 8.4), shutdown (11) and locks (13) where views lag or steps fail.
// The lifecycle itself is data: tests/scenarios/fournos.
#include "lab.hpp"
#include "runtime/view/live.hpp"

namespace athanor::fournos::lifecycle_test {
namespace {

using Eviction = Lab;
using Shutdown = Lab;
using LockOnly = Lab;
using Secrets = Lab;

// A lagging view shows the run going on and its Workload, deleted by our own last step, gone.
TEST_F(Eviction, LeavesRunWithUnseenEndAlone) {
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

TEST_F(Eviction, DoesNotRestartJobDeletedMeanwhile) {
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

// FOURNOS_SECRET_GRACE_SEC: how long copies outlive their job; 0: they end with it.
TEST_F(Secrets, CopiesStayForTheGraceOfTheSettings) {
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-1, namespace: "
      "hearth}, spec: {kubeconfigSecret: my-access}}");
  put("{apiVersion: v1, kind: Secret, metadata: {name: my-access, namespace: psap-secrets}, data: "
      "{kubeconfig: bW9jaw==}}");
  const auto finish = [this](const char* job, const char* grace) {
    configure({{"FOURNOS_SECRET_GRACE_SEC", grace}});
    start(job, kShared);
    EXPECT_TRUE(world.has(api::kSecret, key(std::string(job) + "-kubeconfig"))) << job;
    run_says(job, "True", "", true);
    EXPECT_EQ(phase(job), "Succeeded");
    return world.has(api::kSecret, key(std::string(job) + "-kubeconfig"));
  };
  EXPECT_FALSE(finish("zero", "0"));
  EXPECT_TRUE(finish("short", "30"));
  settle_for(std::chrono::seconds(29));
  EXPECT_TRUE(world.has(api::kSecret, key("short-kubeconfig")));
  settle_for(std::chrono::seconds(1));
  EXPECT_FALSE(world.has(api::kSecret, key("short-kubeconfig")));
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

}  // namespace
}  // namespace athanor::fournos::lifecycle_test
