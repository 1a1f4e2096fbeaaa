// SPDX-License-Identifier: Apache-2.0
// The admission cycle: who gets quota, who waits, and what it says (docs/spec/kueue.md 7, 16.4).
#include "embedded/kueue/cycle/scheduler.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::scheduler_test {
namespace {

using api::kueue::kWorkload;

class Admission : public ::testing::Test {
 protected:
  void settle() {
    world.settle({&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                  &local_queue_operator(), &resource_flavor_operator()});
  }
  Value condition(const std::string& name, const std::string& type) {
    return world.condition(kWorkload, {"bench", name}, type);
  }
  std::string message(const std::string& name) {
    return condition(name, "QuotaReserved")["message"].str();
  }
  bool admitted(const std::string& name) {
    return condition(name, "Admitted")["status"].as_string() == "True";
  }
  // One ClusterQueue "q" with this much gpu, open to every namespace.
  void simple_world(const std::string& quota, const std::string& more = "") {
    world.put(bench_namespace());
    world.put(flavor("f"));
    world.put(small_queue("q", quota, more));
    world.put(local_queue("lq", "q"));
  }
  FakeWorld world;
};

TEST_F(Admission, ReservesQuotaAndAdmitsInOneWrite) {
  put_fournos_queues(world);
  world.put(workload("a", "fournos-queue", "fournos/gpu-a100: \"2\", fournos/cluster-slot: \"1\"",
                     "", ", nodeSelector: {fournos.dev/cluster: cluster-2}"));
  settle();
  EXPECT_TRUE(admitted("a"));
  EXPECT_EQ(message("a"), "Quota reserved in ClusterQueue fournos-queue");
  EXPECT_EQ(condition("a", "Admitted")["message"].as_string(), "The workload is admitted");
  const Value admission = world.must(kWorkload, {"bench", "a"}).status()["admission"];
  EXPECT_EQ(
      json::print(admission),
      R"({"clusterQueue":"fournos-queue","podSetAssignments":[{"name":"launcher","flavors":{"fournos/cluster-slot":"cluster-2","fournos/gpu-a100":"cluster-2"},"resourceUsage":{"fournos/cluster-slot":"1","fournos/gpu-a100":"2"},"count":1}]})");
  EXPECT_EQ(world.event_count("QuotaReserved", "a"), 1);
  EXPECT_EQ(world.event_count("Admitted", "a"), 1);
}

// Go clients drop empty maps, and their next write would seem to change what is immutable.
TEST_F(Admission, WritesNoEmptyMapsWithoutRequests) {
  simple_world("1");
  world.put(workload("a", "lq", ""));
  settle();
  EXPECT_EQ(json::print(world.must(kWorkload, {"bench", "a"}).status()["admission"]),
            R"({"clusterQueue":"q","podSetAssignments":[{"name":"launcher","count":1}]})");
}

// docs/spec/hearth.md 9.5: who comes after a lock waits behind it, whatever the priority.
TEST_F(Admission, KeepsWorkloadsBehindWaitingLock) {
  put_fournos_queues(world);
  const std::string here = ", nodeSelector: {fournos.dev/cluster: cluster-1}";
  world.put(workload("before", "fournos-queue", "fournos/cluster-slot: \"1\"", "", here));
  settle();
  Value lock = workload("lock", "fournos-queue", "fournos/cluster-slot: \"100\"", "", here);
  lock.set_path({"metadata", "labels"}, from_yaml("{fournos.dev/cluster-lock: cluster-1}"));
  world.put(lock);
  world.put(
      workload("after", "fournos-queue", "fournos/cluster-slot: \"1\"", ", priority: 200", here));
  world.put(workload("elsewhere", "fournos-queue", "fournos/cluster-slot: \"1\"", "",
                     ", nodeSelector: {fournos.dev/cluster: cluster-2}"));
  settle();
  EXPECT_TRUE(admitted("before"));
  EXPECT_FALSE(admitted("lock"));
  EXPECT_FALSE(admitted("after"));
  EXPECT_NE(message("after").find("insufficient unused quota for fournos/cluster-slot in flavor "
                                  "cluster-1"),
            std::string::npos)
      << message("after");
  EXPECT_TRUE(admitted("elsewhere"));
  world.remove(kWorkload, {"bench", "before"});
  settle();
  EXPECT_TRUE(admitted("lock"));
  EXPECT_FALSE(admitted("after"));
  world.remove(kWorkload, {"bench", "lock"});
  settle();
  EXPECT_TRUE(admitted("after"));
}

TEST_F(Admission, TakesTheFirstFlavorThatFits) {
  put_fournos_queues(world);
  world.put(workload("a", "fournos-queue", "fournos/gpu-h200: \"8\""));
  world.put(workload("b", "fournos-queue", "fournos/gpu-h200: \"8\""));
  settle();
  const auto flavor_of = [&](const std::string& name) {
    return world.must(kWorkload, {"bench", name})
        .status()["admission"]["podSetAssignments"][0]["flavors"]["fournos/gpu-h200"]
        .str();
  };
  EXPECT_EQ((std::set{flavor_of("a"), flavor_of("b")}),
            (std::set<std::string>{"cluster-3", "cluster-4"}));
}

TEST_F(Admission, ReportsTriedFlavorsAndMissingQuota) {
  put_fournos_queues(world);
  const std::string pinned = ", nodeSelector: {fournos.dev/cluster: cluster-1}";
  world.put(workload("a", "fournos-queue", "fournos/gpu-a100: \"8\"", "", pinned));
  settle();
  world.put(workload("b", "fournos-queue", "fournos/gpu-a100: \"8\"", "", pinned));
  settle();
  EXPECT_EQ(condition("b", "QuotaReserved")["reason"].as_string(), "Pending");
  EXPECT_EQ(message("b"),
            "couldn't assign flavors to pod set launcher: flavor cluster-2 doesn't match node "
            "affinity, flavor cluster-3 doesn't "
            "match node affinity, flavor cluster-4 doesn't match node affinity, insufficient "
            "unused quota for fournos/gpu-a100 in "
            "flavor cluster-1, 8 more needed");
  EXPECT_EQ(world.event_count("Pending", "b"), 1);
  world.remove(kWorkload, {"bench", "a"});
  settle();
  EXPECT_TRUE(admitted("b"));
}

TEST_F(Admission, NamesMaximumCapacityForImpossibleRequests) {
  simple_world("8");
  world.put(workload("a", "lq", "gpu: \"100\""));
  settle();
  EXPECT_EQ(message("a"),
            "couldn't assign flavors to pod set launcher: insufficient quota for gpu in flavor f, "
            "previously considered podsets "
            "requests (0) + current podset request (100) > maximum capacity (8)");
}

TEST_F(Admission, ReportsResourceOutsideQueue) {
  simple_world("8");
  world.put(workload("a", "lq", "cpu: 500m"));
  settle();
  EXPECT_EQ(
      message("a"),
      "couldn't assign flavors to pod set launcher: resource cpu unavailable in ClusterQueue");
}

TEST_F(Admission, AHigherPriorityOvertakesAnOlderWorkload) {
  simple_world("0");
  world.put(workload("old", "lq", "gpu: \"8\""));
  world.advance(std::chrono::seconds(5));
  world.put(workload("urgent", "lq", "gpu: \"8\"", ", priority: 200"));
  settle();
  world.update(api::kueue::kClusterQueue, {"", "q"}, [](Value& queue) {
    queue.member("spec")
        .member("resourceGroups")
        .item(0)
        .member("flavors")
        .item(0)
        .member("resources")
        .item(0)
        .set("nominalQuota", "8");
  });
  settle();
  EXPECT_TRUE(admitted("urgent"));
  EXPECT_FALSE(admitted("old"));
}

TEST_F(Admission, HoldsSmallOnesBehindStrictFifoHead) {
  simple_world("8", ", queueingStrategy: StrictFIFO");
  world.put(workload("first", "lq", "gpu: \"6\""));
  settle();
  world.advance(std::chrono::seconds(1));
  world.put(workload("big", "lq", "gpu: \"4\""));
  world.advance(std::chrono::seconds(1));
  world.put(workload("small", "lq", "gpu: \"1\""));
  settle();
  EXPECT_FALSE(admitted("big"));
  EXPECT_FALSE(admitted("small"));
  EXPECT_TRUE(condition("small", "QuotaReserved").is_null())
      << "what waits behind the head is not looked at";
}

TEST_F(Admission, BestEffortFifoLetsSmallOnesPass) {
  simple_world("8");
  world.put(workload("first", "lq", "gpu: \"6\""));
  settle();
  world.put(workload("big", "lq", "gpu: \"4\""));
  world.put(workload("small", "lq", "gpu: \"1\""));
  settle();
  EXPECT_FALSE(admitted("big"));
  EXPECT_TRUE(admitted("small"));
}

struct Inadmissible {
  const char* what;
  std::function<void(FakeWorld&)> arrange;
  const char* reason;
  const char* message;
};
class InadmissibleWorkloads : public Admission,
                              public ::testing::WithParamInterface<Inadmissible> {};

TEST_P(InadmissibleWorkloads, SayWhy) {
  simple_world("8");
  GetParam().arrange(world);
  world.put(workload("a", "lq", "gpu: \"1\""));
  settle();
  EXPECT_FALSE(admitted("a"));
  EXPECT_EQ(condition("a", "QuotaReserved")["reason"].as_string(), GetParam().reason);
  EXPECT_EQ(message("a"), GetParam().message);
}

void stop(FakeWorld& world, const Kind& kind, const Key& key) {
  world.update(kind, key, [](Value& queue) { queue.member("spec").set("stopPolicy", "Hold"); });
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, InadmissibleWorkloads,
    ::testing::Values(Inadmissible{"no local queue",
                                   [](FakeWorld& w) {
                                     w.remove(api::kueue::kLocalQueue, {"bench", "lq"});
                                   },
                                   "Inadmissible", "LocalQueue lq doesn't exist"},
                      Inadmissible{"stopped local queue",
                                   [](FakeWorld& w) {
                                     stop(w, api::kueue::kLocalQueue, {"bench", "lq"});
                                   },
                                   "Inadmissible", "LocalQueue lq is inactive"},
                      Inadmissible{"no cluster queue",
                                   [](FakeWorld& w) {
                                     w.remove(api::kueue::kClusterQueue, {"", "q"});
                                   },
                                   "Inadmissible", "ClusterQueue q doesn't exist"},
                      Inadmissible{"stopped cluster queue",
                                   [](FakeWorld& w) {
                                     stop(w, api::kueue::kClusterQueue, {"", "q"});
                                   },
                                   "Inadmissible", "ClusterQueue q is inactive"},
                      Inadmissible{"missing flavor",
                                   [](FakeWorld& w) {
                                     w.remove(api::kueue::kResourceFlavor, {"", "f"});
                                   },
                                   "Inadmissible", "ClusterQueue q is inactive"},
                      Inadmissible{
                          "namespace not selected",
                          [](FakeWorld& w) {
                            w.update(api::kueue::kClusterQueue, {"", "q"}, [](Value& queue) {
                              queue.member("spec").set("namespaceSelector",
                                                       from_yaml("{matchLabels: {open: \"yes\"}}"));
                            });
                          },
                          "Pending", "Workload namespace doesn't match ClusterQueue selector"}));

TEST_F(Admission, ComesBackWhenTheNamespaceIsSelectedAgain) {
  put_fournos_queues(world);
  world.update(api::kNamespace, {"", "bench"},
               [](Value& ns) { ns.member("metadata").set("labels", Value::object()); });
  world.put(workload("a", "fournos-queue", "fournos/cluster-slot: \"1\""));
  settle();
  EXPECT_FALSE(admitted("a"));
  world.put(bench_namespace());
  settle();
  EXPECT_TRUE(admitted("a"));
}

TEST_F(Admission, RefusesFlavorsWithUntoleratedTaints) {
  simple_world("8");
  world.update(api::kueue::kResourceFlavor, {"", "f"}, [](Value& object) {
    object.member("spec").set("nodeTaints",
                              from_yaml("[{key: spot, value: \"true\", effect: NoSchedule}]"));
  });
  world.put(workload("a", "lq", "gpu: \"1\""));
  world.put(
      workload("b", "lq", "gpu: \"1\"", "", ", tolerations: [{key: spot, operator: Exists}]"));
  settle();
  EXPECT_EQ(message("a"),
            "couldn't assign flavors to pod set launcher: untolerated taint {spot true NoSchedule "
            "<nil>} in flavor f");
  EXPECT_TRUE(admitted("b"));
}

TEST_F(Admission, BorrowsWithinACohortUpToTheLimits) {
  world.put(bench_namespace());
  world.put(flavor("f"));
  world.put(small_queue("q1", "8, borrowingLimit: 2", ", cohortName: team"));
  world.put(small_queue("q2", "8", ", cohortName: team"));
  world.put(local_queue("lq1", "q1"));
  world.put(local_queue("lq2", "q2"));
  world.put(workload("too-much", "lq1", "gpu: \"12\""));
  world.put(workload("borrower", "lq2", "gpu: \"12\""));
  settle();
  EXPECT_NE(message("too-much").find("> maximum capacity (10)"), std::string::npos)
      << message("too-much");
  EXPECT_TRUE(admitted("borrower"));
  const Value usage =
      world.must(api::kueue::kClusterQueue, {"", "q2"}).status()["flavorsUsage"][0]["resources"][0];
  EXPECT_EQ(json::print(usage), R"({"name":"gpu","total":"12","borrowed":"4"})");
}

TEST_F(Admission, QueueStatusCountsPendingAndAdmittedWorkloads) {
  simple_world("8");
  world.put(workload("a", "lq", "gpu: \"8\""));
  settle();
  world.put(workload("b", "lq", "gpu: \"8\""));
  settle();
  const Value cluster = world.must(api::kueue::kClusterQueue, {"", "q"}).status();
  EXPECT_EQ(cluster["pendingWorkloads"].as_int(), 1);
  EXPECT_EQ(cluster["reservingWorkloads"].as_int(), 1);
  EXPECT_EQ(cluster["admittedWorkloads"].as_int(), 1);
  EXPECT_EQ(json::print(cluster["flavorsUsage"]),
            R"([{"name":"f","resources":[{"name":"gpu","total":"8","borrowed":"0"}]}])");
  EXPECT_EQ(world.condition(api::kueue::kClusterQueue, {"", "q"}, "Active")["message"].as_string(),
            "Can admit new workloads");
  const Value local = world.must(api::kueue::kLocalQueue, {"bench", "lq"}).status();
  EXPECT_EQ(json::print(local["flavorsReservation"]),
            R"([{"name":"f","resources":[{"name":"gpu","total":"8"}]}])");
  EXPECT_EQ(
      world.condition(api::kueue::kLocalQueue, {"bench", "lq"}, "Active")["message"].as_string(),
      "Can submit new workloads to localQueue");
}

TEST_F(Admission, KeepsDeletedClusterQueueWhileQuotaIsHeld) {
  simple_world("8");
  world.update(api::kueue::kClusterQueue, {"", "q"}, [](Value& queue) {
    queue.member("metadata")
        .set("finalizers", Value::list({std::string(api::kueue::kInUseFinalizer)}));
  });
  world.put(workload("a", "lq", "gpu: \"8\""));
  settle();
  world.remove(api::kueue::kClusterQueue, {"", "q"});
  settle();
  EXPECT_EQ(world.condition(api::kueue::kClusterQueue, {"", "q"}, "Active")["reason"].as_string(),
            "Terminating");
  world.remove(kWorkload, {"bench", "a"});
  settle();
  EXPECT_FALSE(world.has(api::kueue::kClusterQueue, {"", "q"}));
}

TEST_F(Admission, KeepsQuotaOfEvictedRawWorkloadUntilRelease) {
  simple_world("8");
  world.put(workload("a", "lq", "gpu: \"8\""));
  world.put(workload("b", "lq", "gpu: \"8\""));
  settle();
  const std::string holder = admitted("a") ? "a" : "b";
  const std::string waiter = holder == "a" ? "b" : "a";
  world.update(api::kueue::kClusterQueue, {"", "q"},
               [](Value& queue) { queue.member("spec").set("stopPolicy", "HoldAndDrain"); });
  settle();
  EXPECT_EQ(condition(holder, "Evicted")["reason"].as_string(), "ClusterQueueStopped");
  EXPECT_EQ(condition(holder, "Evicted")["message"].as_string(), "The ClusterQueue is stopped");
  EXPECT_TRUE(admitted(holder));
  EXPECT_FALSE(admitted(waiter));
}

TEST_F(Admission, EvictsDeactivatedWorkloadAndFreesQuota) {
  simple_world("8");
  world.put(workload("a", "lq", "gpu: \"8\""));
  settle();
  world.update(kWorkload, {"bench", "a"},
               [](Value& object) { object.member("spec").set("active", false); });
  world.put(workload("b", "lq", "gpu: \"8\""));
  settle();
  EXPECT_EQ(condition("a", "Evicted")["message"].as_string(), "The workload is deactivated");
  EXPECT_TRUE(admitted("b"));
}

TEST_F(Admission, FollowsTheValueOfItsPriorityClass) {
  simple_world("0");
  world.put(
      from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: "
                "{name: manual}, value: 200}"));
  world.put(workload("a", "lq", "gpu: \"1\"",
                     ", priority: 10, priorityClassRef: {group: kueue.x-k8s.io, kind: "
                     "WorkloadPriorityClass, name: manual}"));
  settle();
  EXPECT_EQ(world.must(kWorkload, {"bench", "a"}).spec()["priority"].as_int(), 200);
}

TEST_F(Admission, AdmitsManyEqualWorkloadsInOrder) {
  simple_world("20");
  constexpr int kAll = 50;  // more than one read of a group
  for (int i = 0; i < kAll; ++i) {
    world.put(workload(fmt::format("w-{:02}", i), "lq", "gpu: 1"));
    world.advance(std::chrono::seconds(1));
  }
  settle();
  for (int i = 0; i < kAll; ++i) {
    const std::string name = fmt::format("w-{:02}", i);
    EXPECT_EQ(admitted(name), i < 20) << name;
    EXPECT_EQ(world.event_count("Pending", name), i < 20 ? 0 : 1) << name;
  }
  EXPECT_EQ(message("w-49"),
            "couldn't assign flavors to pod set launcher: insufficient unused quota for gpu in "
            "flavor f, 1 more needed");
  // One of another shape is looked at behind them, and does not keep them from what is free.
  world.put(workload("big", "lq", "gpu: 19", ", priority: 5"));
  world.remove(kWorkload, {"bench", "w-00"});
  settle();
  EXPECT_TRUE(admitted("w-20"));
  EXPECT_FALSE(admitted("w-21"));
  EXPECT_FALSE(admitted("big"));
  EXPECT_EQ(world.event_count("Pending", "w-49"), 1);
}

TEST_F(Admission, DecidesAlikeInTraceSchedulerWithOneMessage) {
  simple_world("20");
  world.put(workload("first", "lq", "gpu: 15"));
  world.put(workload("small", "lq", "gpu: 2"));
  world.put(workload("big", "lq", "gpu: 19"));
  const auto settle_with_first_messages = [&] {
    world.settle({&trace_scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                  &local_queue_operator(), &resource_flavor_operator()});
  };
  settle_with_first_messages();
  EXPECT_TRUE(admitted("first"));
  EXPECT_TRUE(admitted("small"));
  const std::string why = message("big");
  EXPECT_EQ(why, "The workload waits") << "the same for all, so that they stay one group";
  // The scheduler of labs says what is missing now.
  world.remove(kWorkload, {"bench", "small"});
  settle_with_first_messages();
  EXPECT_EQ(message("big"), why);
  settle();
  EXPECT_NE(message("big").find("14 more needed"), std::string::npos) << message("big");
  world.remove(kWorkload, {"bench", "first"});
  settle_with_first_messages();
  EXPECT_TRUE(admitted("big"));
}

TEST_F(Admission, RestsWhenNothingChanges) {
  put_fournos_queues(world);
  for (int i = 0; i < 20; ++i) {
    world.put(workload("w" + std::to_string(i), "fournos-queue", "fournos/gpu-a100: \"3\""));
  }
  settle();
  world.writes.clear();
  world.restart();
  settle();
  EXPECT_TRUE(world.writes.empty())
      << world.writes.size() << " writes at rest, first: " << world.writes.front().verb << " "
      << world.writes.front().key;
}

// A cycle looks at everything that waits: it is not run for what changes nothing about that.
TEST_F(Admission, OverlooksChangesWithoutEffectOnQuotaOrWaiting) {
  simple_world("8");
  world.put(workload("in", "lq", "gpu: 8"));
  world.put(workload("out", "lq", "gpu: 8"));
  settle();
  ASSERT_TRUE(admitted("in"));
  const auto overlooks = [](const Kind& kind, const Object& before, Value after) {
    return scheduler_operator().overlooks(kind, before, Object(std::move(after)));
  };
  const Object in = world.must(kWorkload, {"bench", "in"});
  Value labelled = in.body();
  labelled.set_path({"metadata", "labels"}, Value::object({{"a", "b"}}));
  EXPECT_TRUE(overlooks(kWorkload, in, labelled));
  Value partly = in.body();
  partly.set_path({"status", "reclaimablePods"},
                  Value::list({Value::object({{"name", "launcher"}, {"count", 1}})}));
  EXPECT_FALSE(overlooks(kWorkload, in, partly)) << "quota comes back";
  Value finished = in.body();
  finished.set_path({"status", "conditions"},
                    Value::list({Value::object({{"type", "Finished"}, {"status", "True"}})}));
  EXPECT_FALSE(overlooks(kWorkload, in, finished));
  const Object out = world.must(kWorkload, {"bench", "out"});
  Value changed = out.body();
  changed.set_path({"metadata", "labels"}, Value::object({{"a", "b"}}));
  EXPECT_FALSE(overlooks(kWorkload, out, changed)) << "it waits";
  const Object queue = world.must(api::kueue::kClusterQueue, {"", "q"});
  Value reported = queue.body();
  reported.set_path({"status", "pendingWorkloads"}, 17);
  EXPECT_TRUE(overlooks(api::kueue::kClusterQueue, queue, reported));
  Value stopped = queue.body();
  stopped.set_path({"spec", "stopPolicy"}, "Hold");
  EXPECT_FALSE(overlooks(api::kueue::kClusterQueue, queue, stopped));
}

// The missing amount changes with each admission: the messages behind the first workload of a shape
// wait for a run without one.
TEST_F(Admission, WritesTheMessagesOfOthersOnceItRests) {
  simple_world("8");
  world.put(workload("runs", "lq", "gpu: 6", ", priority: 9"));
  settle();
  for (const char* name : {"a", "b", "c", "d"}) {
    world.put(workload(name, "lq", "gpu: 4"));
  }
  settle();
  ASSERT_NE(message("d").find("2 more needed"), std::string::npos) << message("d");
  world.remove(kWorkload, {"bench", "runs"});
  const auto next_run = [&](Duration later) {
    world.advance(later);
    return world.reconcile(scheduler_operator(), {"", "singleton"});
  };
  const auto writes = [](const Plan& plan) {
    return std::ranges::count_if(
        plan.steps(), [](const Step& step) { return std::holds_alternative<Status>(step); });
  };
  EXPECT_EQ(writes(next_run(std::chrono::milliseconds(16))), 4) << "at times it writes all";
  EXPECT_EQ(writes(next_run(std::chrono::milliseconds(1))), 3) << "a and b admitted, c, not d";
  settle();
  EXPECT_NE(message("c").find("4 more needed"), std::string::npos) << message("c");
  EXPECT_EQ(message("d"), message("c"));
}

// A run that tells each once leaves nothing that the next one would do.
TEST_F(Admission, WritesEachWorkloadOnceInTerseMode) {
  simple_world("20");
  for (int i = 0; i < 30; ++i) {
    world.put(workload(fmt::format("w-{:02}", i), "lq", fmt::format("gpu: {}", 1 + i % 4)));
  }
  const auto plan = [&](const Operator& op) { return world.reconcile(op, {"", "singleton"}); };
  const Plan first = plan(trace_scheduler_operator());
  ASSERT_FALSE(first.steps().empty());
  static_cast<void>(world.apply(first));
  EXPECT_TRUE(admitted("w-00"));
  EXPECT_FALSE(admitted("w-29"));
  EXPECT_TRUE(plan(trace_scheduler_operator()).steps().empty());
}

// The engine carries out so much of a plan: what is behind it would be decided in vain.
TEST_F(Admission, ARunEndsWithItsPlan) {
  simple_world("300");
  for (int i = 0; i < 900; ++i) {
    world.put(workload(fmt::format("w-{:03}", i), "lq", fmt::format("gpu: {}", 1 + i / 600)));
  }
  const Plan first = world.reconcile(scheduler_operator(), {"", "singleton"});
  EXPECT_GE(first.steps().size(), kStepsPerPlan);
  EXPECT_LE(first.steps().size(), kStepsPerPlan + 2);
  settle();
  EXPECT_TRUE(admitted("w-299"));
  EXPECT_FALSE(admitted("w-300"));
  EXPECT_NE(message("w-599").find("1 more needed"), std::string::npos) << message("w-599");
  EXPECT_NE(message("w-899").find("2 more needed"), std::string::npos) << message("w-899");
}

}  // namespace
}  // namespace athanor::kueue::test::scheduler_test
