// SPDX-License-Identifier: Apache-2.0
// Weights, shares, order and preemption where queues share (docs/spec/kueue.md 7.4, 7.9).
#include "api/describe.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::fair_sharing_test {
namespace {

constexpr const char* kAny =
    ", cohortName: team, preemption: {reclaimWithinCohort: Any, withinClusterQueue: "
    "LowerPriority}";

class FairSharing : public QueueWorld {
 protected:
  FairSharing() { configure({}); }
  void configure(std::map<std::string, std::string> more) {
    more.emplace("KUEUE_FAIR_SHARING", "true");
    const auto settings = parse_settings(more);
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    world.configure("kueue", api::encode(*settings));
  }
  Value share(const std::string& queue) {
    return world.must(api::kueue::kClusterQueue, {"", queue}).status()["fairSharing"];
  }
};

TEST_F(FairSharing, TheLowestShareGoesFirst) {
  for (const char* name : {"a", "b"}) {
    queue(name, "2", ", cohortName: team");
  }
  queue("bank", "6", ", cohortName: team");
  run("a0", "a", 4, 9);  // a borrows 2 of 10
  submit("a1", "a", 3, 9);
  submit("b1", "b", 4, 0);
  submit("b2", "b", 2, 0);
  settle();
  EXPECT_TRUE(admitted("b1")) << "b would borrow 2, a 5";
  EXPECT_TRUE(admitted("b2"));
  EXPECT_FALSE(admitted("a1"));
}

TEST_F(FairSharing, AWeightCountsForMore) {
  for (const int weight : {1, 3}) {
    queue("a", "0", fmt::format(", cohortName: team, fairSharing: {{weight: {}}}", weight));
    queue("b", "0", ", cohortName: team, fairSharing: {weight: 1}");
    queue("bank", "6", ", cohortName: team");
    for (const char* name : {"b1", "b2"}) {
      submit(name, "b", 2);
    }
    for (const char* name : {"a1", "a2"}) {
      submit(name, "a", 2);
    }
    settle();
    // The first of each, then room for one more: the older one, or that of the larger weight.
    EXPECT_TRUE(admitted("a1") && admitted("b1"));
    EXPECT_EQ(admitted("b2"), weight == 1);
    EXPECT_EQ(admitted("a2"), weight == 3);
    EXPECT_EQ(share("a")["weightedShare"].as_int(), weight == 1 ? 334 : 223);
    EXPECT_EQ(share("b")["weightedShare"].as_int(), weight == 1 ? 667 : 334);
    EXPECT_EQ(share("bank")["weightedShare"].as_int(), 0);
    for (const char* name : {"b2", "a2", "b1", "a1"}) {
      remove(name);
    }
  }
}

TEST_F(FairSharing, OrdersBorrowersWithoutWeightLast) {
  queue("a", "0", ", cohortName: team, fairSharing: {weight: 0}");
  queue("b", "0", ", cohortName: team");
  queue("bank", "4", ", cohortName: team");
  submit("a1", "a", 2, 9);
  submit("b1", "b", 4, 0);
  settle();
  EXPECT_TRUE(admitted("b1"));
  EXPECT_FALSE(admitted("a1"));
  remove("b1");
  EXPECT_TRUE(admitted("a1"));
  EXPECT_EQ(share("a")["weightedShare"].as_int(), 9223372036854775807);
}

TEST_F(FairSharing, PreemptsLargestBorrower) {
  for (const char* name : {"a", "b", "c"}) {
    queue(name, "3", kAny);
  }
  for (int i = 0; i < 6; ++i) {
    run(fmt::format("a{}", i), "a", 1, 5);
  }
  for (int i = 0; i < 3; ++i) {
    run(fmt::format("b{}", i), "b", 1, 5);
  }
  run("c0", "c", 2, 0);
  int from_a = 0;
  for (int i = 0; i < 6; ++i) {
    from_a += preempted_for(fmt::format("a{}", i)) == "InCohortReclamation" ? 1 : 0;
  }
  EXPECT_EQ(from_a, 2) << "c takes what is its own";
  EXPECT_FALSE(evicted("b0") || evicted("b1") || evicted("b2"));
  EXPECT_NE(message("c0").find("Pending the preemption of 2 workload(s)"), std::string::npos);
}

TEST_F(FairSharing, PreventsPreemptorFromExceedingShareOfVictims) {
  for (const char* name : {"a", "b", "c"}) {
    queue(name, "2", kAny);
  }
  run("a0", "a", 2, 5);
  run("a1", "a", 1, 5);
  run("b0", "b", 2, 5);
  run("b1", "b", 1, 5);
  // c has what is its own; a third would make its share larger than theirs.
  run("c0", "c", 2, 5);
  for (const char* name : {"a1", "b1"}) {
    if (evicted(name)) {
      release(name);
    }
  }
  ASSERT_TRUE(admitted("c0"));
  run("c1", "c", 2, 9);
  EXPECT_FALSE(evicted("a0") || evicted("b0"));
}

TEST_F(FairSharing, TheSecondStrategyComparesWithTheShareBefore) {
  for (const bool both : {false, true}) {
    configure(
        {{"KUEUE_PREEMPTION_STRATEGIES", both ? "LessThanOrEqualToFinalShare,LessThanInitialShare"
                                              : "LessThanOrEqualToFinalShare"}});
    queue("a", "0", kAny);
    queue("b", "0", kAny);
    queue("bank", "6", ", cohortName: team");
    run("big", "a", 6);  // its share: all of it; without it none
    run("claim", "b", 2);
    EXPECT_EQ(evicted("big"), both);
    remove("claim");
    remove("big");
  }
}

TEST_F(FairSharing, ACohortHasAShareAsAWhole) {
  cohort("team", "");
  cohort("left", "parentName: team, fairSharing: {weight: 2}");
  queue("l", "2", ", cohortName: left");
  queue("bank", "6", ", cohortName: team");
  run("guest", "l", 6);
  const auto of = [&](const char* name) {
    return world.must(api::kueue::kCohort, {"", name}).status()["fairSharing"]["weightedShare"];
  };
  EXPECT_EQ(of("left").as_int(), 250) << "4 of 8, by weight 2";
  EXPECT_EQ(of("team").as_int(), 0);
}

TEST_F(FairSharing, ElsewhereNoShareIsReported) {
  world.configure("kueue", Value::object());
  queue("a", "0", ", cohortName: team");
  queue("bank", "6", ", cohortName: team");
  run("guest", "a", 6);
  EXPECT_TRUE(share("a").is_null());
}

TEST_F(FairSharing, SharesAreComparedUnrounded) {
  queue("bank", "10000", ", cohortName: team");
  queue("a", "0", ", cohortName: team");
  queue("b", "0", ", cohortName: team");
  run("most", "bank", 9997);
  submit("b1", "b", 3);
  submit("a1", "a", 2);
  settle();
  EXPECT_TRUE(admitted("a1")) << "its share is 0.2, that of the older one 0.3";
  EXPECT_FALSE(admitted("b1"));
  EXPECT_EQ(share("a")["weightedShare"].as_int(), 1) << "rounded up: it borrows";
}

TEST_F(FairSharing, WithoutWeightTheOneThatBorrowsMoreGives) {
  const std::string more = std::string(kAny) + ", fairSharing: {weight: 0}";
  queue("bank", "6", ", cohortName: team");
  queue("a", "0", more);
  queue("b", "0", more);
  for (const char* name : {"a1", "a2", "a3"}) {
    run(name, "a", 1);
  }
  run("b1", "b", 3);
  run("b2", "b", 1);
  EXPECT_FALSE(evicted("a1") || evicted("a2") || evicted("a3")) << "b borrows as much already";
  remove("b1");
  ASSERT_TRUE(admitted("b2"));
  run("a4", "a", 2);
  ASSERT_TRUE(admitted("a4"));
  run("b3", "b", 1);
  EXPECT_TRUE(evicted("a1") || evicted("a2") || evicted("a3") || evicted("a4"));
}

// Seed 860 of the random trees: one victim has what is its queue's own, and the lower share.
TEST_F(FairSharing, APreemptorIsTriedBeforeItsVictims) {
  queue("a", "8", std::string(kAny) + ", fairSharing: {weight: 2}");
  queue("b", "4", ", cohortName: team, queueingStrategy: StrictFIFO");
  run("b1", "b", 4, 3);
  run("b2", "b", 6, 1);
  run("a1", "a", 9, 1);
  ASSERT_TRUE(evicted("b1") && evicted("b2"));
  release("b1");
  EXPECT_FALSE(admitted("b1"));
  release("b2");
  EXPECT_TRUE(admitted("a1"));
  EXPECT_FALSE(admitted("b1") || admitted("b2"));
}

TEST_F(FairSharing, GivesOftenPreemptedQuotaToOwnersAlone) {
  queue("bank", "4", ", cohortName: team");
  queue("owner", "2", kAny);
  queue("a", "0", kAny);
  queue("b", "0", kAny);
  const auto preempted = [&](const std::string& name, int times) {
    world.update(api::kueue::kWorkload, {"bench", name}, [&](Value& object) {
      object.member("status").set(
          "schedulingStats",
          from_yaml(fmt::format("{{evictions: [{{reason: Preempted, underlyingCause: '', count: "
                                "{}}}]}}",
                                times)));
    });
  };
  for (const char* name : {"a1", "a2", "a3"}) {
    run(name, "a", 2);
    preempted(name, 10);
  }
  run("b1", "b", 2);
  EXPECT_FALSE(evicted("a1") || evicted("a2") || evicted("a3"));
  preempted("a1", 9);
  settle();
  EXPECT_TRUE(evicted("a1"));
  release("a1");
  ASSERT_TRUE(admitted("b1"));
  run("owned", "owner", 2);
  EXPECT_TRUE(evicted("a2") || evicted("a3")) << "who asks for its own is served";
}

// Preemptors that contend for the same victims write nothing while these stay.
TEST_F(FairSharing, PreemptorsRestWhileTheirVictimsStay) {
  constexpr int kQueues = 21;
  constexpr int kJobs = 8;
  constexpr int kMostRuns = 20;
  const auto name = [](int queue, int job) { return fmt::format("w{}-{}", queue, job); };
  for (int i = 0; i < kQueues; ++i) {
    const std::string queue_name = fmt::format("q{}", i);
    queue(queue_name, "10", ", cohortName: team, preemption: {reclaimWithinCohort: Any}");
    for (int j = 0; j < kJobs; ++j) {
      submit(name(i, j), queue_name, 1 + (i + j) % 3);
    }
  }
  for (int round = 0; round < 12; ++round) {
    int runs = 0;
    for (bool writes = true; writes; ++runs) {
      ASSERT_LE(runs, kMostRuns) << "round " << round;
      const Plan plan = world.reconcile(scheduler_operator(), {"", "singleton"});
      ASSERT_TRUE(world.apply(plan).ok());
      writes = !plan.steps().empty();
    }
    for (int i = 0; i < kQueues; i += 7) {  // one job of every seventh queue ends
      for (int j = 0; j < kJobs; ++j) {
        const Key key{"bench", name((i + round * 3) % kQueues, j)};
        const auto held = world.get(api::kueue::kWorkload, key);
        if (held && !held->status()["admission"].is_null()) {
          world.remove(api::kueue::kWorkload, key);
          break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace athanor::kueue::test::fair_sharing_test
