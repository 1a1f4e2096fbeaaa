// SPDX-License-Identifier: Apache-2.0
// Why a Workload waits, who holds its quota and is not preempted for it, and when it may start
// (docs/spec/kueue.md 17).
#include "embedded/kueue/explain/explain.hpp"

#include "embedded/kueue/explain/trial.hpp"
#include "embedded/kueue/explain/unblocking.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test {
namespace {

class Explain : public QueueWorld {
 protected:
  Explain() { world.configure("kueue", from_yaml("{waitForPodsReady: false}")); }
  Explanation why(const std::string& name) {
    return why(world.must(api::kueue::kWorkload, {"bench", name}));
  }
  Explanation why(const Object& workload) {
    Reads reads;
    return explain(View(world, reads), workload, world.now);
  }
  // Seconds from now; -1: unknown.
  std::int64_t in(const std::optional<Instant>& when) const {
    return when ? std::chrono::duration_cast<std::chrono::seconds>(*when - world.now).count() : -1;
  }
  // It ran for so long and is over.
  void ran(const std::string& name, const std::string& queue, int seconds) {
    run(name, queue, 1);
    world.advance(std::chrono::seconds(seconds));
    world.update(api::kueue::kWorkload, {"bench", name}, [&](Value& object) {
      Value conditions = object["status"]["conditions"];
      set_condition(conditions, {"Finished", "True", "Succeeded", "", {}}, world.now);
      object.member("status").set("conditions", conditions);
    });
    settle();
  }
};

TEST_F(Explain, NamesWhoHoldsTheQuotaAndWhyTheyAreKept) {
  queue("q", "4", ", preemption: {withinClusterQueue: LowerPriority}");
  run("high", "q", 3, 9);
  run("low", "q", 1, 1);
  run("waits", "q", 4, 5);
  const Explanation result = why("waits");
  EXPECT_EQ(result.state, "waits");
  ASSERT_EQ(result.quotas.size(), 1U);
  const QuotaReport& quota = result.quotas[0];
  EXPECT_EQ(quota.flavor + " " + quota.resource + " " + quota.wanted + " " + quota.used + " " +
                quota.nominal + " " + quota.available,
            "f gpu 4 4 4 0");
  ASSERT_EQ(quota.holders.size(), 2U);
  EXPECT_EQ(quota.holders[0].workload.name, "high");
  EXPECT_EQ(quota.holders[0].kept_for, "its priority 9 is not below 5");
  EXPECT_EQ(quota.holders[1].kept_for, "all that may be preempted would not make enough room");
}

TEST_F(Explain, SaysWhyOtherQueuesKeepTheirQuota) {
  queue("mine", "2", ", cohortName: c, preemption: {reclaimWithinCohort: Any}");
  queue("theirs", "4", ", cohortName: c");
  run("theirs-1", "theirs", 4);
  run("mine-1", "mine", 2);
  run("waits", "mine", 2);
  const Explanation result = why("waits");
  const auto& holders = result.quotas.at(0).holders;
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].kept_for, "ClusterQueue theirs borrows nothing of it");
  EXPECT_EQ(holders[1].kept_for, "preemption.withinClusterQueue of ClusterQueue mine is Never");
}

TEST_F(Explain, SaysHowMuchOfTheQuotaIsBorrowed) {
  queue("mine", "2", ", cohortName: c");
  queue("theirs", "4", ", cohortName: c");
  run("mine-1", "mine", 1);
  run("waits", "mine", 7);
  const QuotaReport quota = why("waits").quotas.at(0);
  EXPECT_EQ(quota.available + " " + quota.borrowable + " " + quota.capacity, "5 4 6");
  EXPECT_NE(why("waits").text(world.now).find("5 available, 4 of it borrowed (1 used of 2"),
            std::string::npos);
}

TEST_F(Explain, NamesWhatPreemptionFrees) {
  queue("q", "4", ", preemption: {withinClusterQueue: LowerPriority}");
  run("low", "q", 4, 1);
  submit("high", "q", 3, 9);
  const Explanation result = why("high");
  ASSERT_EQ(result.preempts.size(), 1U);
  EXPECT_EQ(json::print(result.to_value()["preempts"]),
            R"([{"workload":"bench/low","clusterQueue":"q","why":"prioritization in the )"
            R"(ClusterQueue","frees":[{"flavor":"f","resource":"gpu","amount":"4"}]}])");
  EXPECT_NE(result.text(world.now).find(
                "would preempt bench/low of ClusterQueue q (prioritization in the "
                "ClusterQueue), which frees 4 gpu of flavor f"),
            std::string::npos);
  EXPECT_EQ(result.causes.at(0).unblocked_by, "1 workload that it preempts releases quota");
}

TEST_F(Explain, OfAQueueThatIsStrictPerFlavor) {
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q, annotations: "
      "{athanor.dev/strict-fifo: PerFlavor}}, spec: {namespaceSelector: {}, queueingStrategy: "
      "StrictFIFO, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, resources: "
      "[{name: gpu, nominalQuota: 4}]}, {name: g, resources: [{name: gpu, nominalQuota: "
      "4}]}]}]}}"));
  world.put(local_queue("q", "q"));
  const auto on = [&](const std::string& name, const std::string& flavor, int gpus) {
    world.advance(std::chrono::seconds(1));
    world.put(workload(name, "q", fmt::format("gpu: {}", gpus), "",
                       ", nodeSelector: {fournos.dev/cluster: " + flavor + "}"));
  };
  on("runs", "f", 2);
  settle();
  on("head", "f", 4);
  settle();
  on("behind", "f", 2);
  on("elsewhere", "g", 2);
  ASSERT_EQ(why("behind").causes.size(), 1U);
  EXPECT_EQ(why("behind").causes[0].text, "is StrictFIFO: bench/head goes first");
  EXPECT_TRUE(why("elsewhere").causes.empty());
}

// Each obstacle, and the event that ends it (docs/spec/kueue.md 17).
class Unblocking : public Explain {
 protected:
  Unblocking() { settle(); }  // the engine's indexes
  std::string events(const std::string& name) {
    std::string all;
    for (const Explanation::Cause& cause : why(name).causes) {
      all += (all.empty() ? "" : " | ") + cause.object + ": " + cause.unblocked_by;
    }
    return all;
  }
  void say(const std::string& name, const std::string& patch) {
    world.update(api::kueue::kWorkload, {"bench", name},
                 [&](Value& object) { object = apply_merge_patch(object, from_yaml(patch)); });
  }
};

TEST_F(Unblocking, OfQuota) {
  queue("q", "4");
  run("runs", "q", 3);
  run("waits", "q", 4);
  run("huge", "q", 5);
  EXPECT_EQ(events("waits"), "ClusterQueue/q: 3 more gpu of flavor f become free");
  EXPECT_EQ(events("huge"), "ClusterQueue/q: the quota of gpu in flavor f is raised to 5");
}

TEST_F(Unblocking, OfOneOfTwoFlavors) {
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
      "{namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, "
      "resources: [{name: gpu, nominalQuota: 4}]}, {name: g, resources: [{name: gpu, "
      "nominalQuota: 2}]}, {name: lost, resources: [{name: gpu, nominalQuota: 2}]}]}]}}"));
  world.put(local_queue("q", "q"));
  world.put(flavor("lost"));
  run("runs", "q", 4);
  run("waits", "q", 3);
  EXPECT_EQ(events("waits"), "ClusterQueue/q: 3 more gpu of flavor f become free")
      << "the quota of the others needs to be raised";
  EXPECT_EQ(
      quota_event(
          {.mode = Mode::NoFit,
           .pod_sets = {{.name = "a", .reasons = {{.why = Reason::Why::NoMatch, .flavor = "f"}}},
                        {.name = "b",
                         .reasons = {{.why = Reason::Why::NotFound, .flavor = "g"},
                                     {.why = Reason::Why::NotCovered, .named = "example.com/x"}}}}},
          0),
      "the ClusterQueue has quota of a flavor that its pods may use; the ClusterQueue covers "
      "resource example.com/x, or ResourceFlavor g is created");
}

TEST_F(Unblocking, OfQueuesAndTheirOrder) {
  submit("w", "none", 1);
  EXPECT_EQ(events("w"), "LocalQueue/bench/none: it is created");
  world.put(local_queue("none", "missing"));
  EXPECT_EQ(events("w"), "ClusterQueue/missing: it is created");
  queue("strict", "2", ", queueingStrategy: StrictFIFO");
  run("first", "strict", 3);
  run("second", "strict", 1);
  EXPECT_EQ(events("second"), "ClusterQueue/strict: bench/first is admitted or leaves the queue");
  world.put(small_queue("strict", "2", ", stopPolicy: Hold"));
  EXPECT_EQ(events("second"), "ClusterQueue/strict: its condition Active becomes True");
  world.put(small_queue("strict", "2"));
  world.update(api::kueue::kClusterQueue, {"", "strict"}, [](Value& object) {
    object =
        apply_merge_patch(object, from_yaml("{spec: {namespaceSelector: {matchLabels: {a: b}}}}"));
  });
  EXPECT_EQ(events("first"),
            "ClusterQueue/strict: labels of namespace bench match the selector | "
            "ClusterQueue/strict: the quota of gpu in flavor f is raised to 3");
}

// It would fit: another one goes first by the annotation of its LocalQueue.
TEST_F(Unblocking, OfOneThatWaitsForTooLong) {
  world.put(small_queue("q", "4"));
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: "
      "bench, annotations: {athanor.dev/max-wait: 30m}}, spec: {clusterQueue: q}}"));
  run("runs", "q", 2);
  run("huge", "q", 40);
  run("large", "q", 4);
  world.advance(std::chrono::minutes(10));
  submit("soon", "q", 2);
  EXPECT_EQ(events("soon"), "");
  world.advance(std::chrono::minutes(21));
  run("small", "q", 2);
  EXPECT_EQ(events("small"), "LocalQueue/bench/q: bench/large is admitted or leaves the queue");
  EXPECT_EQ(why("small").causes.at(0).text,
            "bench/large waits for longer than its athanor.dev/max-wait and goes first");
}

TEST_F(Unblocking, OfBlockedAdmission) {
  world.configure("kueue", from_yaml("{waitForPodsReady: true, blockAdmission: true}"));
  queue("q", "4");
  run("starts", "q", 1);
  run("waits", "q", 1);
  EXPECT_EQ(events("waits"), "ClusterQueue/q: all admitted workloads have condition PodsReady");
}

TEST_F(Unblocking, OfWhatAWorkloadSays) {
  queue("q", "4");
  submit("w", "q", 1);
  say("w", "{metadata: {annotations: {kueue.x-k8s.io/admission-gated-by: a}}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: the annotation is removed");
  say("w",
      "{metadata: {annotations: null}, status: {conditions: [{type: Requeued, status: "
      "\"False\", reason: LocalQueueStopped, message: m}]}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: spec.stopPolicy of its LocalQueue becomes None");
  say("w", "{status: {conditions: [], admissionChecks: [{name: c, state: Retry}]}}");
  EXPECT_EQ(events("w"), "AdmissionCheck/c: its state is no longer Retry");
  say("w",
      "{status: {conditions: [{type: QuotaReserved, status: \"True\"}, {type: Admitted, "
      "status: \"True\"}, {type: Evicted, status: \"True\", message: m}]}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: its owner stops it and releases the quota");
  say("w", "{spec: {active: false}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: spec.active becomes true");
}

TEST_F(Explain, EstimatesFromDeclaredTimes) {
  queue("q", "2");
  run("first", "q", 2, 0, ", maximumExecutionTimeSeconds: 600");
  run("second", "q", 2, 0, ", maximumExecutionTimeSeconds: 300");
  run("third", "q", 2);
  world.advance(std::chrono::seconds(98));  // the first has run for 100
  const Explanation result = why("third");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(in(result.estimate->earliest), 500 + 300);
  EXPECT_EQ(in(result.estimate->latest), 500 + 300);
}

TEST_F(Explain, EstimatesFromEarlierRuns) {
  queue("q", "2");
  for (int i = 0; i < 10; ++i) {
    ran(fmt::format("run-{}", i), "q", 60 * (1 + i));
  }
  run("first", "q", 2);
  run("second", "q", 2);
  const Explanation result = why("second");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(result.estimate->runs, 10U);
  EXPECT_EQ(in(result.estimate->earliest), 360 - 1);
  EXPECT_EQ(in(result.estimate->latest), 600 - 1);
  EXPECT_NE(result.text(world.now).find("estimate: starts between"), std::string::npos);
}

TEST_F(Explain, KnowsThatItDoesNotKnow) {
  queue("q", "2");
  run("first", "q", 2);
  run("second", "q", 2);
  const Explanation result = why("second");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(in(result.estimate->earliest), -1);
  EXPECT_NE(result.text(world.now).find("estimate: unknown"), std::string::npos);
}

TEST_F(Explain, EstimatesWhoIsPreempted) {
  queue("q", "4", ", preemption: {withinClusterQueue: LowerPriority}");
  run("low", "q", 4, 1, ", maximumExecutionTimeSeconds: 100");
  submit("high", "q", 4, 9, ", maximumExecutionTimeSeconds: 50");
  const Explanation result = why("high");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(in(result.estimate->latest), 0);
}

TEST_F(Explain, AnswersForARequestThatExistsNowhere) {
  queue("q", "4");
  run("runs", "q", 3);
  const auto ask = [&](const std::string& requests, const std::string& count = "") {
    return trial_workload(
        {.local_queue = {"bench", "q"}, .requests = requests, .count = count, .priority = ""},
        world.now);
  };
  EXPECT_TRUE(why(*ask("gpu=1")).causes.empty());
  EXPECT_EQ(why(*ask("gpu=1")).flavors.at("gpu"), "f");
  EXPECT_FALSE(why(*ask("gpu=1", "2")).causes.empty());
  EXPECT_FALSE(ask("gpu").ok());
  EXPECT_FALSE(ask("").ok());
  EXPECT_FALSE(ask("gpu=1", "-1").ok());
}

}  // namespace
}  // namespace athanor::kueue::test
