// SPDX-License-Identifier: Apache-2.0
// Why a Workload waits, who holds its quota and is not preempted for it, and when it may start
// (docs/spec/kueue.md 17).
#include "embedded/kueue/explain/explain.hpp"

#include "embedded/kueue/explain/trial.hpp"
#include "embedded/kueue/explain/unblocking.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::explain_test {
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
  // For a viewer who may see no Workload of any namespace.
  Explanation unseen(const std::string& name) {
    Reads reads;
    return explain(View(world, reads), world.must(api::kueue::kWorkload, {"bench", name}),
                   world.now, {.sees = [](std::string_view) { return false; }});
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

TEST_F(Explain, NamesHoldersOfQuotaAndReasonsToKeep) {
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
  EXPECT_TRUE(quota.holders[0].since.has_value());
  EXPECT_NE(result.text(world.now).find("bench/high holds 3 for "), std::string::npos);
  EXPECT_EQ(quota.holders[0].kept_for, "its priority 9 is not below 5");
  EXPECT_EQ(quota.holders[1].kept_for, "all that may be preempted would not make enough room");
}

TEST_F(Explain, LeavesOutWorkloadsThatViewerMayNotSee) {
  queue("q", "4", ", preemption: {withinClusterQueue: LowerPriority}");
  run("high", "q", 2, 9);
  run("low", "q", 2, 1);
  run("waits", "q", 2, 5);
  const Explanation seen = why("waits");
  EXPECT_EQ(seen.hidden, 0U);
  ASSERT_EQ(seen.preempts.size(), 1U);
  const Explanation result = unseen("waits");
  EXPECT_EQ(result.hidden, seen.preempts.size() + seen.quotas.at(0).holders.size());
  EXPECT_TRUE(result.preempts.empty());
  EXPECT_TRUE(result.quotas.at(0).holders.empty());
  EXPECT_EQ(result.quotas.at(0).used, seen.quotas.at(0).used);
  EXPECT_EQ(result.to_value()["hidden"].as_int(), 3);
  EXPECT_EQ(result.text(world.now).find("bench/low"), std::string::npos);
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

TEST_F(Explain, NamesQuotaThatPreemptionFrees) {
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
  EXPECT_EQ(result.causes.at(0).kind, CauseKind::Preempting);
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
  EXPECT_EQ(unseen("behind").causes.at(0).text,
            "is StrictFIFO: a Workload that you may not see goes first");
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
  // "QuotaInUse | Inactive"
  std::string kinds(const std::string& name) {
    std::string all;
    for (const Explanation::Cause& cause : why(name).causes) {
      all += (all.empty() ? "" : " | ") + std::string(cause_word(cause.kind));
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
  EXPECT_EQ(kinds("waits"), "QuotaInUse");
  EXPECT_EQ(kinds("huge"), "QuotaTooSmall");
  EXPECT_EQ(why("waits").to_value()["causes"][0]["kind"].str(), "QuotaInUse");
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
}

// Two groups: the first lacks free quota, the second can never have enough, and a resource has no
// quota at all.
TEST_F(Unblocking, NamesLastingObstaclesFirst) {
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
      "{namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, "
      "resources: [{name: cpu, nominalQuota: 4}]}]}, {coveredResources: [gpu], flavors: [{name: g, "
      "resources: [{name: gpu, nominalQuota: 2}]}]}]}}"));
  world.put(local_queue("q", "q"));
  world.put(workload("runs", "q", "cpu: 4"));
  settle();
  world.advance(std::chrono::seconds(1));
  world.put(workload("waits", "q", "cpu: 1, gpu: 3, example.com/x: 1"));
  settle();
  EXPECT_EQ(events("waits"),
            "ClusterQueue/q: the ClusterQueue covers resource example.com/x | "
            "ClusterQueue/q: the quota of gpu in flavor g is raised to 3 | "
            "ClusterQueue/q: 1 more cpu of flavor f becomes free");
  EXPECT_EQ(kinds("waits"), "QuotaTooSmall | QuotaTooSmall | QuotaInUse");
  EXPECT_EQ(why("waits").causes.at(0).text,
            "pod set launcher: resource example.com/x unavailable in ClusterQueue");
}

TEST_F(Unblocking, LeavesOutFlavorsThatPodsMayNotUse) {
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
      "{namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, "
      "resources: [{name: gpu, nominalQuota: 4}]}, {name: g, resources: [{name: gpu, nominalQuota: "
      "4}]}]}]}}"));
  world.put(local_queue("q", "q"));
  const auto on = [&](const std::string& name, const std::string& flavor, int gpus) {
    world.advance(std::chrono::seconds(1));
    world.put(workload(name, "q", fmt::format("gpu: {}", gpus), "",
                       ", nodeSelector: {fournos.dev/cluster: " + flavor + "}"));
    settle();
  };
  on("runs", "f", 3);
  on("other", "g", 3);
  on("waits", "f", 2);
  const Explanation result = why("waits");
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].text,
            "pod set launcher: insufficient unused quota for gpu in flavor f, 1 more needed");
  ASSERT_EQ(result.quotas.size(), 1U);
  EXPECT_EQ(result.quotas[0].flavor, "f");
  on("nowhere", "h", 1);
  EXPECT_EQ(events("nowhere"),
            "ClusterQueue/q: the ClusterQueue has quota of a flavor that its pods may use");
  EXPECT_EQ(kinds("nowhere"), "FlavorExcluded");
}

TEST_F(Unblocking, OfQueuesAndTheirOrder) {
  submit("w", "none", 1);
  EXPECT_EQ(events("w"), "LocalQueue/bench/none: it is created");
  EXPECT_EQ(kinds("w"), "QueueMissing");
  world.put(local_queue("none", "missing"));
  EXPECT_EQ(events("w"), "ClusterQueue/missing: it is created");
  queue("strict", "2", ", queueingStrategy: StrictFIFO");
  run("first", "strict", 3);
  run("second", "strict", 1);
  EXPECT_EQ(events("second"), "ClusterQueue/strict: bench/first is admitted or leaves the queue");
  EXPECT_EQ(kinds("second"), "OthersFirst");
  world.put(small_queue("strict", "2", ", stopPolicy: Hold"));
  EXPECT_EQ(events("second"), "ClusterQueue/strict: its condition Active becomes True");
  EXPECT_EQ(kinds("second"), "QueueInactive");
  world.put(small_queue("strict", "2"));
  world.update(api::kueue::kClusterQueue, {"", "strict"}, [](Value& object) {
    object =
        apply_merge_patch(object, from_yaml("{spec: {namespaceSelector: {matchLabels: {a: b}}}}"));
  });
  EXPECT_EQ(events("first"),
            "ClusterQueue/strict: labels of namespace bench match the selector | "
            "ClusterQueue/strict: the quota of gpu in flavor f is raised to 3");
  EXPECT_EQ(kinds("first"), "NamespaceNotMatched | QuotaTooSmall");
  const Value details = why("first").to_value()["causes"][0]["details"];
  EXPECT_EQ(json::print(details["namespaceSelector"]), R"({"matchLabels":{"a":"b"}})");
  EXPECT_TRUE(details["labels"].is_object());
  EXPECT_NE(why("first").text(world.now).find(R"(namespaceSelector: {"matchLabels":{"a":"b"}})"),
            std::string::npos);
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
  EXPECT_EQ(kinds("small"), "OthersFirst");
  EXPECT_EQ(why("small").causes.at(0).text,
            "bench/large waits for longer than its athanor.dev/max-wait and goes first");
  const Explanation::Cause hidden = unseen("small").causes.at(0);
  EXPECT_EQ(hidden.object, "ClusterQueue/q");
  EXPECT_EQ(hidden.text,
            "a Workload that you may not see waits for longer than its athanor.dev/max-wait and "
            "goes first");
  EXPECT_EQ(hidden.unblocked_by, "a Workload that you may not see is admitted or leaves the queue");
}

TEST_F(Unblocking, OfBlockedAdmission) {
  world.configure("kueue", from_yaml("{waitForPodsReady: true, blockAdmission: true}"));
  queue("q", "4");
  run("starts", "q", 1);
  run("waits", "q", 1);
  EXPECT_EQ(events("waits"), "ClusterQueue/q: all admitted workloads have condition PodsReady");
  EXPECT_EQ(kinds("waits"), "PodsNotReady");
}

TEST_F(Unblocking, FollowsFieldsOfWorkload) {
  queue("q", "4");
  submit("w", "q", 1);
  say("w", "{metadata: {annotations: {kueue.x-k8s.io/admission-gated-by: a}}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: the annotation is removed");
  EXPECT_EQ(kinds("w"), "HeldBack");
  say("w",
      "{metadata: {annotations: null}, status: {conditions: [{type: Requeued, status: "
      "\"False\", reason: LocalQueueStopped, message: m}]}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: spec.stopPolicy of its LocalQueue becomes None");
  EXPECT_EQ(kinds("w"), "RequeueBackoff");
  say("w", "{status: {conditions: [], admissionChecks: [{name: c, state: Retry}]}}");
  EXPECT_EQ(events("w"), "AdmissionCheck/c: its state is no longer Retry");
  EXPECT_EQ(kinds("w"), "AdmissionCheck");
  say("w",
      "{status: {conditions: [{type: QuotaReserved, status: \"True\"}, {type: Admitted, "
      "status: \"True\"}, {type: Evicted, status: \"True\", message: m}]}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: its owner stops it and releases the quota");
  EXPECT_EQ(kinds("w"), "Evicted");
  say("w", "{spec: {active: false}}");
  EXPECT_EQ(events("w"), "Workload/bench/w: spec.active becomes true");
  EXPECT_EQ(kinds("w"), "Inactive");
}

// What blocks others is that pods start, not how long they run.
TEST_F(Explain, EstimatesBehindPodsThatStart) {
  world.configure("kueue", from_yaml("{waitForPodsReady: true, blockAdmission: true}"));
  queue("q", "4");
  run("starts", "q", 1, 0, ", maximumExecutionTimeSeconds: 3600");
  run("waits", "q", 1, 0, ", maximumExecutionTimeSeconds: 60");
  const auto result = why("waits");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(in(result.estimate->earliest), 1);
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
  const std::string said = result.text(world.now + std::chrono::milliseconds(300));
  EXPECT_NE(said.find("estimate: starts between"), std::string::npos);
  EXPECT_NE(said.find("(in 5m59s)"), std::string::npos) << said;
}

// Their Workloads are gone when they end.
TEST_F(Explain, EstimatesFromEndedFournosJobs) {
  queue("q", "2");
  const auto job = [&](const std::string& name, const std::string& spec,
                       const std::string& status) {
    world.put(from_yaml("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: " + name +
                        ", namespace: bench}, spec: {" + spec + "}, status: {" + status + "}}"));
  };
  const auto ended = [&](int minutes, bool has_completion) {
    const std::string end = fmt::format("\"2026-01-01T01:{:02}:00Z\"", minutes);
    return fmt::format(
        "phase: Succeeded, {}conditions: [{{type: WorkloadAdmitted, status: \"True\", "
        "lastTransitionTime: \"2026-01-01T01:00:00Z\"}}, {{type: PipelineRunReady, status: "
        "\"True\", lastTransitionTime: {}}}]",
        has_completion ? "completionTime: " + end + ", " : "", end);
  };
  for (int i = 0; i < 10; ++i) {
    job(fmt::format("ended-{}", i), "owner: a", ended(1 + i, i % 2 == 0));
  }
  job("refused", "owner: a", "phase: Failed, completionTime: \"2026-01-01T01:00:00Z\"");
  job("lock", "owner: a, lockOnly: true", ended(59, true));
  const auto submit_job = [&](const std::string& name) {
    world.advance(std::chrono::seconds(1));
    Value object = workload(name, "q", "gpu: 2");
    object.member("metadata")
        .set("ownerReferences", from_yaml("[{apiVersion: fournos.dev/v1, kind: FournosJob, name: " +
                                          name + ", uid: u, controller: true}]"));
    world.put(std::move(object));
    settle();
  };
  submit_job("first");
  submit_job("second");
  const Explanation result = why("second");
  ASSERT_TRUE(result.estimate);
  EXPECT_EQ(result.estimate->runs, 10U);
  EXPECT_EQ(in(result.estimate->earliest), 360 - 1);
  EXPECT_EQ(in(result.estimate->latest), 600 - 1);
  // A lock ends when it says so.
  job("first", "owner: a, lockOnly: true, lockUntil: \"2026-01-05T01:00:00Z\"", "phase: Running");
  const Explanation locked = why("second");
  ASSERT_TRUE(locked.estimate && locked.estimate->latest);
  EXPECT_EQ(format_time(*locked.estimate->latest), "2026-01-05T01:00:00Z");
  job("first", "owner: a, lockOnly: true", "phase: Running");
  EXPECT_FALSE(why("second").estimate->latest);
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

TEST_F(Explain, GivesNoEstimateForOneThatNeverFits) {
  queue("q", "2");
  run("first", "q", 2);
  submit("large", "q", 3);
  const std::string text = why("large").text(world.now);
  EXPECT_NE(text.find("estimate: none, it does not start before the obstacles above are gone"),
            std::string::npos)
      << text;
}

TEST_F(Explain, EstimatesPreemptedWorkloads) {
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
}  // namespace athanor::kueue::test::explain_test
