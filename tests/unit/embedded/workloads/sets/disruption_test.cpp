// SPDX-License-Identifier: Apache-2.0
// The status of PodDisruptionBudgets.
#include "embedded/workloads/sets/disruption.hpp"

#include "embedded/workloads/sets/replica_set.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::disruption_test {
namespace {

class DisruptionTest : public WorkloadTest {
 protected:
  DisruptionTest() : WorkloadTest({&disruption_operator(), &replica_set_operator()}) {}
  void budget(const std::string& bound) {
    put("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: ns}, "
        "spec: {selector: {matchLabels: {app: a}}, " +
        bound + "}}");
    settle();
  }
  void pods_of(int replicas) {
    put("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: ns}, spec: "
        "{replicas: " +
        std::to_string(replicas) +
        ", selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: "
        "{containers: []}}}}");
    settle();
    make_all_ready();
  }
  Value status() { return world.must(api::kPodDisruptionBudget, {"ns", "b"}).status(); }
};

TEST_F(DisruptionTest, BoundsInNumbersAndShares) {
  struct Case {
    const char* bound;
    std::int64_t healthy;
    std::int64_t allowed;
  };
  pods_of(7);
  for (const Case& c : {Case{"minAvailable: 5", 5, 2}, Case{"minAvailable: 9", 9, 0},
                        Case{"minAvailable: 50%", 4, 3}, Case{"maxUnavailable: 2", 5, 2},
                        Case{"maxUnavailable: 25%", 5, 2}, Case{"maxUnavailable: 0", 7, 0},
                        Case{"maxUnavailable: 100%", 0, 7}}) {
    budget(c.bound);
    EXPECT_EQ(status()["desiredHealthy"].as_int(), c.healthy) << c.bound;
    EXPECT_EQ(status()["disruptionsAllowed"].as_int(), c.allowed) << c.bound;
    EXPECT_EQ(status()["currentHealthy"].as_int(), 7) << c.bound;
    EXPECT_EQ(status()["expectedPods"].as_int(), 7) << c.bound;
    const Value condition = find_condition(status()["conditions"], "DisruptionAllowed");
    EXPECT_EQ(condition["reason"].str(), c.allowed > 0 ? "SufficientPods" : "InsufficientPods");
    EXPECT_TRUE(condition["message"].is_string());
  }
}

TEST_F(DisruptionTest, OnlyReadyPodsThatStayCount) {
  pods_of(3);
  budget("maxUnavailable: 1");
  set_ready(pods()[0].key(), false);
  EXPECT_EQ(status()["disruptionsAllowed"].as_int(), 0);
  EXPECT_EQ(status()["currentHealthy"].as_int(), 2);
}

TEST_F(DisruptionTest, CountsEvictionUntilPodGoesOrTimesOut) {
  pods_of(3);
  budget("minAvailable: 1");
  EXPECT_EQ(status()["disruptionsAllowed"].as_int(), 2);
  const std::string name(pods()[0].name());
  world.update(api::kPodDisruptionBudget, {"ns", "b"}, [&](Value& body) {
    body.set_path({"status", "disruptedPods", name}, format_time(world.now));
  });
  settle();
  EXPECT_EQ(status()["disruptionsAllowed"].as_int(), 1);
  pass(std::chrono::minutes(2));
  EXPECT_EQ(status()["disruptionsAllowed"].as_int(), 2);
  EXPECT_FALSE(status().contains("disruptedPods"));
  EXPECT_EQ(note_of("NotDeleted"),
            "Warning Pod was expected by PDB ns/b to be deleted but it wasn't");
}

TEST_F(DisruptionTest, ReportsMissingAndUnmanagedPods) {
  budget("maxUnavailable: 1");
  EXPECT_EQ(note_of("NoPods"), "Normal No matching pods found");
  EXPECT_EQ(status()["disruptionsAllowed"].as_int(), 0);
  put("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {app: a}}}");
  settle();
  EXPECT_EQ(world.event_count("UnmanagedPods"), 1);
}

}  // namespace
}  // namespace athanor::workloads::disruption_test
