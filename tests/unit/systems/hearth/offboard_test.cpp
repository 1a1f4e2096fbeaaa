// SPDX-License-Identifier: Apache-2.0
// The end of a cluster (docs/spec/hearth.md section 10).
#include "lab.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::hearth::offboard_test {
namespace {

class Offboarding : public Lab {
 protected:
  Offboarding() {
    onboard("c1");
    onboard("c2");
  }
  void drop(const std::string& name) {
    world.remove(api::kFournosCluster, key(name));
    settle();
  }
  [[nodiscard]] Object kubeconfig_secret() const {
    return world.must(api::kSecret, {kSecrets, "kubeconfig-c1"});
  }
  [[nodiscard]] bool has_flavor() const {
    return world.has(api::kueue::kResourceFlavor, {"", "c1"});
  }
};

TEST_F(Offboarding, AnIdleClusterGoesAtOnce) {
  drop("c1");
  EXPECT_FALSE(has("c1"));
  EXPECT_FALSE(has_flavor());
  EXPECT_EQ(queue(), "c2 cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(kubeconfig_secret().annotation("fournos.dev/offboarded"), format_time(world.now));
  EXPECT_EQ(world.event_count("OffboardingStarted", "c1"), 1);
  EXPECT_EQ(world.event_count("OffboardingDone", "c1"), 1);
  world.restart();
  pass(std::chrono::hours(1));
  EXPECT_FALSE(has("c1"));  // A16
  world.update(api::kSecret, {kSecrets, "kubeconfig-c1"}, [](Value& object) {
    object.erase_path({"metadata", "annotations", "fournos.dev/offboarded"});
  });
  settle();
  EXPECT_TRUE(has("c1"));
}

TEST_F(Offboarding, TheLastClusterTakesItsGroupAlong) {  // A17
  drop("c1");
  drop("c2");
  const Object object = world.must(api::kueue::kClusterQueue, {"", kQueue});
  EXPECT_EQ(object.spec()["resourceGroups"].size(), 0U);
}

TEST_F(Offboarding, RunningWorkIsWaitedFor) {  // A16
  workload("bench-7", "c1", 1);
  put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: next, namespace: "
      "psap-automation}, spec: {cluster: c1}, status: {phase: Pending}}");
  drop("c1");
  EXPECT_EQ(condition("c1", "Offboarding"), "True/Draining waiting for 1 workloads: bench-7");
  EXPECT_EQ(queue(), "c1 cluster-slot=0 gpu-a100=16; c2 cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(status("c1")["activeWorkloads"].as_int(), 1);
  const int asked_before = asked["kubeconfig-c1"];
  pass(std::chrono::hours(5));
  EXPECT_EQ(asked["kubeconfig-c1"], asked_before);
  EXPECT_TRUE(world.has(api::kueue::kWorkload, {kJobs, "bench-7"}));
  world.remove(api::kueue::kWorkload, {kJobs, "bench-7"});
  settle();
  EXPECT_FALSE(has("c1"));
  EXPECT_EQ(world.event_count("ClusterOffboarded", "next"), 1);
}

TEST_F(Offboarding, ALockGoesFirst) {
  set_owner("c1", "alice");
  sentinel_is("cluster-lock-c1", true);
  drop("c1");
  // Its Workload is Fournos' to remove.
  EXPECT_FALSE(world.has(api::kFournosJob, {kJobs, "cluster-lock-c1"}));
  world.remove(api::kueue::kWorkload, {kJobs, "cluster-lock-c1"});
  settle();
  EXPECT_FALSE(has("c1"));
}

void force(Value& object) {
  object.set_path({"spec", "deletionPolicy"}, "Force");
}

TEST_F(Offboarding, ForcesEndOfJobsWithinOneMinute) {
  const Object job =
      put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: bench-7, namespace: "
          "psap-automation}, spec: {cluster: c1}, status: {phase: Running}}");
  workload("bench-7", "c1", 1, &job);
  edit("c1", force);
  drop("c1");
  EXPECT_EQ(world.must(api::kFournosJob, {kJobs, "bench-7"}).spec()["shutdown"],
            Value("Terminate"));
  EXPECT_TRUE(has("c1"));
  pass(std::chrono::seconds(59));
  EXPECT_TRUE(has("c1"));
  pass(std::chrono::seconds(1));
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, ADrainMayTurnIntoForce) {
  workload("bench-7", "c1", 1);
  edit("c1", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/drain-timeout"}, "10m");
  });
  drop("c1");
  pass(std::chrono::minutes(10) + std::chrono::seconds(59));
  EXPECT_TRUE(has("c1"));
  pass(std::chrono::seconds(2));
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, ThePolicyMayChangeOnTheWay) {
  workload("bench-7", "c1", 1);
  drop("c1");
  EXPECT_TRUE(has("c1"));
  edit("c1", force);
  pass(std::chrono::seconds(61));
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, RetainLeavesQueueAndFlavor) {
  edit("c1", [](Value& object) { object.set_path({"spec", "deletionPolicy"}, "Retain"); });
  workload("bench-7", "c1", 1);
  drop("c1");
  EXPECT_FALSE(has("c1"));
  EXPECT_TRUE(has_flavor());
  EXPECT_EQ(queue(), "c1 cluster-slot=100 gpu-a100=16; c2 cluster-slot=100 gpu-a100=16");
  EXPECT_NE(kubeconfig_secret().annotation("fournos.dev/offboarded"), "");
}

TEST_F(Offboarding, TheKubeconfigMayGoToo) {
  edit("c1", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/delete-kubeconfig"}, "true");
  });
  drop("c1");
  EXPECT_FALSE(world.has(api::kSecret, {kSecrets, "kubeconfig-c1"}));
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, ASharedKubeconfigStaysForTheOther) {
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: twin, namespace: "
      "hearth, annotations: {fournos.dev/delete-kubeconfig: \"true\"}}, spec: {kubeconfigSecret: "
      "kubeconfig-c1}}");
  settle();
  drop("twin");
  EXPECT_FALSE(has("twin"));
  EXPECT_EQ(kubeconfig_secret().annotation("fournos.dev/offboarded"), "");
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: twin, namespace: "
      "hearth}, spec: {kubeconfigSecret: kubeconfig-c1}}");
  edit("c1", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/delete-kubeconfig"}, "true");
  });
  drop("c1");
  EXPECT_FALSE(has("c1")) << "nor does its Secret make it anew";
  EXPECT_TRUE(world.has(api::kSecret, {kSecrets, "kubeconfig-c1"}));
  EXPECT_EQ(status("twin")["kubeconfigStatus"], Value("Valid"));
}

// The ClusterQueue tells of running work where Workloads are hidden.
TEST_F(Offboarding, WorkThatCannotBeListedIsWaitedFor) {
  world.fail_observation(unreadable_query(api::kueue::kWorkload),
                         {.code = 403, .reason = "Forbidden", .message = "not you"});
  const auto reserve = [&](const char* total) {
    world.update(api::kueue::kClusterQueue, {"", kQueue}, [&](Value& object) {
      object.set_path(
          {"status", "flavorsReservation"},
          *yaml::parse("[{name: c1, resources: [{name: fournos/cluster-slot, total: \"" +
                       std::string(total) + "\"}]}]"));
    });
    settle();
  };
  reserve("1");
  drop("c1");
  EXPECT_EQ(condition("c1", "Offboarding"),
            "True/Draining waiting for running workloads, which cannot be listed: not you");
  reserve("0");
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, AnotherQueueBlocks) {
  put("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: other}, spec: "
      "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: c1, resources: [{name: cpu, "
      "nominalQuota: 1}]}]}]}}");
  drop("c1");
  EXPECT_EQ(condition("c1", "Offboarding"),
            "False/Blocked ResourceFlavor c1 is still used by ClusterQueue other");
  EXPECT_EQ(queue(), "c2 cluster-slot=100 gpu-a100=16");
  world.remove(api::kueue::kClusterQueue, {"", "other"});
  settle();
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, WithoutKueueNothingHangs) {
  world.remove(api::kueue::kClusterQueue, {"", kQueue});
  world.remove(api::kueue::kResourceFlavor, {"", "c1"});
  drop("c1");
  EXPECT_FALSE(has("c1"));
}

// docs/spec/hearth.md 10.1
TEST_F(Offboarding, ManualModeLeavesAllButTheSentinel) {
  configure({{"HEARTH_OFFBOARDING", "manual"}});
  world.restart();
  settle();
  EXPECT_FALSE(cluster("c1").has_finalizer("fournos.dev/cluster-cleanup"));
  set_owner("c1", "alice");
  drop("c1");
  EXPECT_FALSE(has("c1"));
  EXPECT_FALSE(world.has(api::kFournosJob, {kJobs, "cluster-lock-c1"}));
  EXPECT_TRUE(has_flavor());
  EXPECT_EQ(queue(), "c1 cluster-slot=100 gpu-a100=16; c2 cluster-slot=100 gpu-a100=16");
  pass(std::chrono::hours(1));
  EXPECT_FALSE(has("c1"));
}

TEST_F(Offboarding, ResumesAfterEveryStep) {
  workload("bench-7", "c1", 1);
  drop("c1");
  world.remove(api::kueue::kWorkload, {kJobs, "bench-7"});
  // One step at a time, forgetting everything in between.
  for (int round = 0; round < 60 && has("c1"); ++round) {
    for (const Operator* op : {&cluster_operator(), &queue_operator()}) {
      const Key one = op->singleton ? Key{"", "singleton"} : key("c1");
      const Plan plan = world.reconcile(*op, one);
      const std::size_t before = world.writes.size();
      for (std::size_t i = 0; i < plan.steps().size() && world.writes.size() == before; ++i) {
        Plan single;
        single.then(plan.steps()[i]);
        EXPECT_TRUE(world.apply(single).ok());
      }
    }
  }
  EXPECT_FALSE(has("c1"));
  EXPECT_FALSE(has_flavor());
  EXPECT_EQ(queue(), "c2 cluster-slot=100 gpu-a100=16");
}

}  // namespace
}  // namespace athanor::hearth::offboard_test
