// SPDX-License-Identifier: Apache-2.0
// Who gives way to whom, what both are told, and how the victim comes back
// (docs/spec/kueue.md 7.6 to 7.8, 16.4).
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::preemption_test {
namespace {

constexpr const char* kLower = ", preemption: {withinClusterQueue: LowerPriority}";

class Preemption : public QueueWorld {
 protected:
  // The text of the only event with this reason.
  std::string note_of(std::string_view reason) {
    std::string note;
    for (const auto& event : world.events) {
      if (event.reason == reason) {
        EXPECT_TRUE(note.empty()) << "a second event: " << event.note;
        note = event.note;
      }
    }
    return note;
  }
};

TEST_F(Preemption, EvictsLowerPriorityAndReadmitsVictim) {
  queue("q", "8", kLower);
  run("low", "q", 8, 10);
  run("high", "q", 8, 200);
  const std::string uid(world.must(api::kueue::kWorkload, {"bench", "high"}).uid());
  const std::string text =
      "Preempted to accommodate a workload (UID: " + uid +
      ", JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /q; "
      "preemptee path: /q";
  EXPECT_EQ(condition("low", "Evicted")["reason"].as_string(), "Preempted");
  EXPECT_EQ(condition("low", "Evicted")["message"].as_string(), text);
  EXPECT_EQ(preempted_for("low"), "InClusterQueue");
  EXPECT_EQ(condition("low", "Preempted")["message"].as_string(), text);
  EXPECT_EQ(message("high"),
            "couldn't assign flavors to pod set launcher: insufficient unused quota for gpu in "
            "flavor f, 8 more needed. Pending the preemption of 1 workload(s)");
  EXPECT_EQ(world.event_count("EvictedDueToPreempted", "low"), 1);
  const std::string priorities =
      "; preemptor effective priority: 200 (base: 200, boost: 0); preemptee effective priority: 10 "
      "(base: 10, boost: 0)";
  EXPECT_EQ(note_of("Preempted"), text + priorities);
  const std::string victim(world.must(api::kueue::kWorkload, {"bench", "low"}).uid());
  EXPECT_EQ(note_of("PreemptedWorkload"),
            "Preempted workload bench/low (UID: " + victim + ") in ClusterQueue q" + priorities);
  EXPECT_TRUE(admitted("low")) << "its owner releases the quota, nobody else";
  EXPECT_FALSE(admitted("high"));

  release("low");
  EXPECT_TRUE(admitted("high"));
  EXPECT_FALSE(admitted("low"));
  remove("high");
  EXPECT_TRUE(admitted("low"));
  EXPECT_EQ(condition("low", "Evicted")["status"].as_string(), "False");
  EXPECT_EQ(condition("low", "Evicted")["reason"].as_string(), "QuotaReserved");
  EXPECT_EQ(condition("low", "Preempted")["message"].as_string(), "Previously: " + text);
}

// docs/spec/kueue.md 13: the event of the next reservation.
TEST_F(Preemption, StartsWaitOfVictimAtRequeue) {
  queue("q", "8", kLower);
  run("low", "q", 8, 10);
  world.advance(std::chrono::seconds(60));
  run("high", "q", 8, 200);
  release("low");
  world.advance(std::chrono::seconds(10));
  world.events.clear();
  remove("high");
  EXPECT_EQ(note_of("QuotaReserved"),
            "Quota reserved in ClusterQueue q, wait time since queued was 10s");
}

TEST_F(Preemption, KeepsQuotaOfRawWorkloadUntilDeletion) {
  queue("q", "8", kLower);
  run("low", "q", 8, 10);
  run("high", "q", 8, 200);
  world.writes.clear();
  world.restart();
  settle();
  EXPECT_TRUE(world.writes.empty()) << "it is evicted once";
  remove("low");
  EXPECT_TRUE(admitted("high"));
}

TEST_F(Preemption, NamesTheJobOfThePreemptor) {
  queue("q", "8", kLower);
  run("low", "q", 8);
  Value high = workload("high", "q", "gpu: 8", ", priority: 5");
  high.set_path({"metadata", "labels"}, from_yaml("{kueue.x-k8s.io/job-uid: of-the-job}"));
  world.put(high);
  settle();
  EXPECT_NE(condition("low", "Evicted")["message"].str().find("JobUID: of-the-job)"),
            std::string::npos);
}

TEST_F(Preemption, EvictsNewerEqualPriorityByPolicyOnly) {
  for (const char* policy : {"LowerPriority", "LowerOrNewerEqualPriority"}) {
    const std::string name(policy);
    world.put(small_queue("q" + name, "0", ", preemption: {withinClusterQueue: " + name + "}"));
    world.put(local_queue("q", "q" + name));
    submit("old", "q", 8);
    settle();
    submit("new", "q", 8);
    // Only the newer one is let in first.
    world.update(api::kueue::kWorkload, {"bench", "old"},
                 [](Value& object) { object.member("spec").set("active", false); });
    world.put(small_queue("q" + name, "8", ", preemption: {withinClusterQueue: " + name + "}"));
    settle();
    ASSERT_TRUE(admitted("new"));
    world.update(api::kueue::kWorkload, {"bench", "old"},
                 [](Value& object) { object.member("spec").set("active", true); });
    settle();
    EXPECT_EQ(evicted("new"), name == "LowerOrNewerEqualPriority") << name;
    remove("old");
    remove("new");
  }
}

TEST_F(Preemption, TakesLowestPriorityThenLatestAsNeeded) {
  queue("q", "8", kLower);
  run("older", "q", 2, 1);
  run("newer", "q", 2, 1);
  run("higher", "q", 2, 5);
  run("big", "q", 2, 0);
  run("urgent", "q", 4, 9);
  EXPECT_TRUE(evicted("big"));
  EXPECT_TRUE(evicted("newer"));
  EXPECT_FALSE(evicted("older"));
  EXPECT_FALSE(evicted("higher"));
}

TEST_F(Preemption, SparesUnneededVictims) {
  queue("q", "8", kLower);
  run("large", "q", 7, 1);
  run("small", "q", 1, 0);
  run("urgent", "q", 7, 9);
  EXPECT_FALSE(evicted("small")) << "without it the large one alone makes room";
  EXPECT_TRUE(evicted("large"));
}

TEST_F(Preemption, ThosePreemptedAlreadyGoFirst) {
  queue("q", "8", kLower);
  run("a", "q", 4, 1);
  run("b", "q", 4, 2);
  run("first", "q", 4, 5);
  ASSERT_TRUE(evicted("a"));
  remove("first");
  run("second", "q", 4, 6);
  EXPECT_FALSE(evicted("b")) << "a is on its way out";
  EXPECT_NE(message("second").find("Pending the preemption of 1 workload(s)"), std::string::npos);
}

TEST_F(Preemption, KeepsPlaceWhileAwaitingPreemptions) {
  queue("q", "8", kLower);
  run("low", "q", 8, 1);
  run("high", "q", 8, 5);
  ASSERT_TRUE(evicted("low"));
  run("higher", "q", 8, 9);
  EXPECT_TRUE(condition("higher", "QuotaReserved").is_null()) << "it is not looked at";
  release("low");
  EXPECT_TRUE(admitted("high"));
}

TEST_F(Preemption, ReclaimsQuotaBorrowedByCohort) {
  const std::string reclaim = ", cohortName: team, preemption: {reclaimWithinCohort: Any}";
  queue("q1", "8", reclaim);
  queue("q2", "8", reclaim);
  run("own", "q1", 8, 9);
  run("borrower", "q1", 4, 9);
  EXPECT_TRUE(admitted("borrower"));
  run("claim", "q2", 8, 0);
  EXPECT_FALSE(evicted("own"));
  EXPECT_EQ(preempted_for("borrower"), "InCohortReclamation");
  EXPECT_NE(condition("borrower", "Evicted")["message"].str().find(
                "due to reclamation within the cohort; preemptor path: /team/q2; preemptee path: "
                "/team/q1"),
            std::string::npos);
  release("borrower");
  EXPECT_TRUE(admitted("claim"));
  EXPECT_FALSE(admitted("borrower"));
}

TEST_F(Preemption, ReclaimsLowerPrioritiesByPolicyOnly) {
  const std::string reclaim =
      ", cohortName: team, preemption: {reclaimWithinCohort: LowerPriority}";
  queue("q1", "8", reclaim);
  queue("q2", "8", reclaim);
  run("high", "q1", 12, 5);
  run("claim", "q2", 8, 5);
  EXPECT_FALSE(evicted("high"));
  run("urgent", "q2", 8, 6);
  EXPECT_TRUE(evicted("high"));
}

struct Threshold {
  int preemptor;
  const char* borrow;
  bool preempts;
};
class PreemptionWhileBorrowing : public QueueWorld,
                                 public ::testing::WithParamInterface<Threshold> {};

// A queue that borrows takes from one that borrows, too, below a priority.
TEST_P(PreemptionWhileBorrowing, HeedsTheThreshold) {
  queue("q1", "4",
        std::string(", cohortName: team, preemption: {reclaimWithinCohort: LowerPriority, "
                    "borrowWithinCohort: ") +
            GetParam().borrow + "}");
  queue("q2", "4", ", cohortName: team");
  queue("q3", "4", ", cohortName: team");
  run("victim", "q2", 8, 3);
  run("borrower", "q1", 8, GetParam().preemptor);
  EXPECT_EQ(preempted_for("victim"), GetParam().preempts ? "InCohortReclaimWhileBorrowing" : "");
}
INSTANTIATE_TEST_SUITE_P(Policies, PreemptionWhileBorrowing,
                         ::testing::Values(Threshold{9, "{policy: Never}", false},
                                           Threshold{9, "{policy: LowerPriority}", true},
                                           Threshold{3, "{policy: LowerPriority}", false},
                                           Threshold{9,
                                                     "{policy: LowerPriority, "
                                                     "maxPriorityThreshold: 3}",
                                                     true},
                                           Threshold{9,
                                                     "{policy: LowerPriority, "
                                                     "maxPriorityThreshold: 2}",
                                                     false}));

TEST_F(Preemption, ReclaimsHigherCohortQuotaFromOutside) {
  cohort("root", "");
  cohort("left", "parentName: root");
  cohort("right", "parentName: root");
  queue("l1", "2", ", cohortName: left, preemption: {reclaimWithinCohort: Any}");
  queue("l2", "6", ", cohortName: left");
  queue("r", "0", ", cohortName: right");
  run("guest", "r", 8, 9);
  ASSERT_TRUE(admitted("guest"));
  // 6 is more than the own 2, but within the 8 of the left half: what is outside of it gives way.
  run("claim", "l1", 6, 0);
  EXPECT_EQ(preempted_for("guest"), "InCohortReclamation");
  EXPECT_NE(condition("guest", "Evicted")["message"].str().find(
                "preemptor path: /root/left/l1; preemptee path: /root/right/r"),
            std::string::npos);
}

TEST_F(Preemption, ACohortWithoutQueuesLends) {
  cohort("root", "");
  cohort("bank",
         "parentName: root, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, "
         "resources: [{name: gpu, nominalQuota: 6, lendingLimit: 4}]}]}]");
  queue("q", "2", ", cohortName: root");
  run("a", "q", 6);
  EXPECT_TRUE(admitted("a"));
  run("b", "q", 7);
  EXPECT_NE(message("b").find("> maximum capacity (6)"), std::string::npos) << message("b");
}

TEST_F(Preemption, TwoThatWantTheSameVictim) {
  const std::string reclaim = ", cohortName: team, preemption: {reclaimWithinCohort: Any}";
  queue("a", "4", reclaim);
  queue("b", "4", reclaim);
  queue("c", "0", reclaim);
  run("guest", "c", 8);
  submit("one", "a", 3, 5);
  submit("two", "b", 3, 4);
  settle();
  EXPECT_NE(message("one").find("Pending the preemption of 1 workload(s)"), std::string::npos);
  EXPECT_EQ(message("two"), "Workload has overlapping preemption targets with another workload");
  release("guest");
  EXPECT_TRUE(admitted("one"));
  EXPECT_TRUE(admitted("two"));
}

TEST_F(Preemption, ReportsLackOfRoomBesideOtherPreemptor) {
  const std::string reclaim =
      ", cohortName: team, preemption: {reclaimWithinCohort: Any, withinClusterQueue: "
      "LowerPriority}";
  queue("a", "4, borrowingLimit: 4", reclaim);
  queue("b", "4, borrowingLimit: 4", reclaim);
  run("own", "a", 4, 1);
  run("loan", "b", 4, 1);
  submit("in-a", "a", 4, 9);
  submit("in-b", "b", 4, 8);
  settle();
  EXPECT_TRUE(evicted("own"));
  EXPECT_TRUE(evicted("loan"));
  release("own");
  release("loan");
  EXPECT_TRUE(admitted("in-a"));
  EXPECT_TRUE(admitted("in-b"));
}

// docs/spec/kueue.md 7.7: who finds nobody to preempt is not overtaken within the cycle.
TEST_F(Preemption, KeepsOwnQuotaForStrictHead) {
  for (const bool any : {false, true}) {
    queue("strict", "8",
          std::string(", cohortName: team, queueingStrategy: StrictFIFO, preemption: "
                      "{reclaimWithinCohort: ") +
              (any ? "Any" : "Never") + "}");
    queue("other", "0", ", cohortName: team");
    run("running", "strict", 4, 9);
    submit("head", "strict", 6, 5);
    submit("small", "other", 4, 0);
    settle();
    EXPECT_FALSE(admitted("head"));
    EXPECT_EQ(admitted("small"), any) << "with Any it can take it back when it wants";
    for (const char* name : {"small", "head", "running"}) {
      remove(name);
    }
  }
}

// ---- flavors
class Fungibility : public QueueWorld {
 protected:
  void two_flavors(const std::string& more) {
    world.put(from_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
        "{namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, "
        "resources: [{name: gpu, nominalQuota: 4}]}, {name: g, resources: [{name: gpu, "
        "nominalQuota: 4}]}]}], preemption: {withinClusterQueue: LowerPriority, "
        "reclaimWithinCohort: Any}" +
        more + "}}"));
    world.put(local_queue("q", "q"));
  }
};

TEST_F(Fungibility, TriesTheNextFlavorBeforeItPreempts) {
  two_flavors("");
  run("low", "q", 4);
  run("high", "q", 4, 5);
  EXPECT_FALSE(evicted("low"));
  EXPECT_EQ(flavor_of("high"), "g");
}

TEST_F(Fungibility, StopsAtFirstFlavorFreedByPreemption) {
  two_flavors(", flavorFungibility: {whenCanPreempt: MayStopSearch}");
  run("low", "q", 4);
  run("high", "q", 4, 5);
  EXPECT_TRUE(evicted("low"));
}

TEST_F(Fungibility, PrefersReclaimToItsOwn) {
  two_flavors(", cohortName: team");
  queue("r", "0", ", cohortName: team");
  run("own", "q", 4, 1);
  ASSERT_EQ(flavor_of("own"), "f");
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: r}, spec: "
      "{cohortName: team, namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], "
      "flavors: [{name: g, resources: [{name: gpu, nominalQuota: 0}]}]}]}}"));
  run("guest", "r", 4, 1);
  ASSERT_TRUE(admitted("guest"));
  run("high", "q", 4, 9);
  EXPECT_TRUE(evicted("guest"));
  EXPECT_FALSE(evicted("own"));
}

TEST_F(Fungibility, BorrowsOrPreemptsAsPreferred) {
  for (const bool preempt : {false, true}) {
    two_flavors(std::string(", cohortName: team, flavorFungibility: {whenCanBorrow: "
                            "TryNextFlavor, whenCanPreempt: TryNextFlavor, preference: ") +
                (preempt ? "PreemptionOverBorrowing" : "BorrowingOverPreemption") + "}");
    queue("lender", "4", ", cohortName: team");
    run("low", "q", 4);  // takes f; g is full below, f of the lender is free
    world.put(workload("other", "q", "gpu: 4", ", priority: 1"));
    settle();
    run("high", "q", 4, 5);
    EXPECT_EQ(evicted("low") || evicted("other"), preempt);
    for (const char* name : {"high", "other", "low"}) {
      remove(name);
    }
  }
}

// docs/spec/hearth.md 9.5: nobody is preempted for who comes after a lock.
TEST_F(Preemption, DoesNotPreemptForWorkloadBehindLock) {
  queue("q", "8", kLower);
  run("running", "q", 1, 1);
  Value lock = workload("lock", "q", "gpu: 8");
  lock.set_path({"metadata", "labels"}, from_yaml("{fournos.dev/cluster-lock: f}"));
  world.put(lock);
  settle();
  run("after", "q", 1, 9);
  EXPECT_FALSE(evicted("running"));
  EXPECT_FALSE(admitted("after"));
}

// Seed 5530 of the random trees: the victim borrows from its own cohort, its preemptor from farther
// up, so that by 7.4 the victim would have its quota back first, time and again.
TEST_F(Preemption, APreemptorIsTriedBeforeItsVictims) {
  constexpr const char* kBorrows =
      ", cohortName: inner, preemption: {reclaimWithinCohort: LowerPriority, borrowWithinCohort: "
      "{policy: LowerPriority}}";
  cohort("outer", "");
  cohort("inner", "parentName: outer");
  queue("bank", "5", ", cohortName: outer");
  queue("lender", "2", ", cohortName: inner");
  queue("l", "1", ", cohortName: inner");
  queue("h", "1", kBorrows);
  run("low", "l", 2, 1);
  run("high", "h", 9, 2);
  ASSERT_EQ(preempted_for("low"), "InCohortReclaimWhileBorrowing");
  release("low");
  EXPECT_TRUE(admitted("high"));
  EXPECT_FALSE(admitted("low"));
}

}  // namespace
}  // namespace athanor::kueue::test::preemption_test
