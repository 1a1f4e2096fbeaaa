// SPDX-License-Identifier: Apache-2.0
// The queueing's metrics (docs/spec/kueue.md 14).
#include "embedded/kueue/metrics/instruments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "api/kueue.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::instruments_test {
namespace {

std::string text_of(const Samples& samples, std::string_view prefix) {
  std::string text;
  for (const Sample& sample : samples) {
    if (!sample.metric.starts_with(prefix)) {
      continue;
    }
    text += std::string(sample.metric);
    for (const auto& [name, value] : sample.labels) {
      text.append(" ").append(name).append("=").append(value);
    }
    text += " " + std::to_string(static_cast<long long>(sample.value)) + "\n";
  }
  return text;
}

TEST(KueueInstruments, CountPendingWorkloads) {
  FakeWorld world;
  world.put(small_queue("cq", "0"));
  world.put(local_queue("lq", "cq"));
  world.put(workload("w", "lq", "gpu: 1"));
  Reads reads;
  Samples samples;
  kueue_instruments().state(View(world, reads), samples);
  // The queue's condition Active is not there yet.
  EXPECT_EQ(text_of(samples, "kueue_pending_workloads"),
            "kueue_pending_workloads cluster_queue=cq status=active 0\n"
            "kueue_pending_workloads cluster_queue=cq status=inadmissible "
            "1\n");
  EXPECT_EQ(text_of(samples, "kueue_cluster_queue_status"),
            "kueue_cluster_queue_status cluster_queue=cq status=pending 1\n"
            "kueue_cluster_queue_status cluster_queue=cq status=active 0\n"
            "kueue_cluster_queue_status cluster_queue=cq status=terminating 0\n");
  EXPECT_EQ(text_of(samples, "kueue_cluster_queue_nominal_quota"), "");
  world.configure("kueue", from_yaml("{clusterQueueResourceMetrics: true}"));
  kueue_instruments().state(View(world, reads), samples);
  EXPECT_EQ(text_of(samples, "kueue_cluster_queue_nominal_quota"),
            "kueue_cluster_queue_nominal_quota cohort= cluster_queue=cq flavor=f resource=gpu 0\n");
}

TEST(KueueInstruments, SumCohortsOverTheirSubtrees) {
  FakeWorld world;
  world.put(from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: all}}"));
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: team}, spec: "
      "{parentName: all, resourceGroups: [{coveredResources: [gpu], flavors: [{name: f, resources: "
      "[{name: gpu, nominalQuota: 2}]}]}]}, status: {fairSharing: {weightedShare: "
      "9223372036854775807}}}"));
  Value queue = small_queue("cq", "4");
  queue.set_path({"spec", "cohortName"}, "team");
  queue.set("status", from_yaml("{admittedWorkloads: 3, flavorsReservation: [{name: f, resources: "
                                "[{name: gpu, total: 1}]}]}"));
  world.put(queue);
  world.configure("kueue", from_yaml("{clusterQueueResourceMetrics: true}"));
  Reads reads;
  Samples samples;
  kueue_instruments().state(View(world, reads), samples);
  EXPECT_EQ(text_of(samples, "kueue_cohort_subtree"),
            "kueue_cohort_subtree_quota cohort=all flavor=f resource=gpu 6\n"
            "kueue_cohort_subtree_quota cohort=team flavor=f resource=gpu 6\n"
            "kueue_cohort_subtree_resource_reservations cohort=all flavor=f resource=gpu 1\n"
            "kueue_cohort_subtree_resource_reservations cohort=team flavor=f resource=gpu 1\n"
            "kueue_cohort_subtree_admitted_active_workloads cohort=all 3\n"
            "kueue_cohort_subtree_admitted_active_workloads cohort=team 3\n");
  const auto share = std::ranges::find(samples, "kueue_cohort_weighted_share", &Sample::metric);
  ASSERT_NE(share, samples.end());
  EXPECT_TRUE(std::isnan(share->value)) << "it borrows with a weight of 0";
}

TEST(KueueInstruments, ShowInfiniteSharesAsNaN) {
  FakeWorld world;
  Value queue = small_queue("cq", "4");
  queue.set("status", from_yaml("{fairSharing: {weightedShare: 9223372036854775807}}"));
  world.put(queue);
  world.configure("kueue", from_yaml("{clusterQueueResourceMetrics: true}"));
  Reads reads;
  Samples samples;
  kueue_instruments().state(View(world, reads), samples);
  const auto share =
      std::ranges::find(samples, "kueue_cluster_queue_weighted_share", &Sample::metric);
  ASSERT_NE(share, samples.end());
  EXPECT_TRUE(std::isnan(share->value)) << "it borrows with a weight of 0";
}

TEST(KueueInstruments, CountFinishedWorkloads) {
  FakeWorld world;
  world.put(small_queue("cq", "0"));
  world.put(local_queue("lq", "cq"));
  Value finished = workload("w", "lq", "gpu: 1");
  finished.set("status", from_yaml("{conditions: [{type: Finished, status: 'True'}]}"));
  world.put(finished);
  Reads reads;
  Samples samples;
  kueue_instruments().state(View(world, reads), samples);
  EXPECT_EQ(text_of(samples, "kueue_finished_workloads"),
            "kueue_finished_workloads cluster_queue=cq 1\n");
  EXPECT_EQ(text_of(samples, "kueue_local_queue_finished_workloads"),
            "kueue_local_queue_finished_workloads name=lq namespace=" +
                std::string(Object(finished).ns()) + " 1\n");
}

TEST(KueueInstruments, CountOutcomesOfWorkloads) {
  const auto with = [](const std::string& conditions, const std::string& evictions = "") {
    return Object(from_yaml(
        "{metadata: {name: w, namespace: bench, creationTimestamp: \"2026-01-05T00:00:00Z\"}, "
        "spec: {queueName: lq, priorityClassRef: {name: high}}, status: {admission: {clusterQueue: "
        "cq}, schedulingStats: {evictions: [" +
        evictions + "]}, conditions: [" + conditions + "]}}"));
  };
  const std::string reserved =
      "{type: QuotaReserved, status: \"True\", lastTransitionTime: \"2026-01-05T00:00:10Z\"}, "
      "{type: Admitted, status: \"True\", lastTransitionTime: \"2026-01-05T00:00:10Z\"}";
  const std::string evicted =
      ", {type: Evicted, status: \"True\", reason: Preempted, lastTransitionTime: "
      "\"2026-01-05T00:01:00Z\"}, {type: Preempted, status: \"True\", reason: InClusterQueue, "
      "message: \"Preempted to accommodate; preemptor path: /all/team; preemptee path: /all/cq\", "
      "lastTransitionTime: \"2026-01-05T00:01:00Z\"}";
  const Object pending = with("");
  const Object admitted = with(reserved);
  const Object preempted =
      with(reserved + evicted, "{reason: Preempted, underlyingCause: \"\", count: 1}");
  Samples samples;
  kueue_instruments().tally(ObjectChanged{api::kueue::kWorkload, &pending, &admitted}, samples);
  kueue_instruments().tally(ObjectChanged{api::kueue::kWorkload, &admitted, &preempted}, samples);
  const std::string queue = " cluster_queue=cq priority_class=high";
  const std::string local = " name=lq namespace=bench priority_class=high";
  EXPECT_EQ(text_of(samples, "kueue_"),
            "kueue_admission_attempts_total result=success 1\n"
            "kueue_quota_reserved_workloads_total" +
                queue + " 1\nkueue_local_queue_quota_reserved_workloads_total" + local +
                " 1\nkueue_quota_reserved_wait_time_seconds" + queue +
                " 10\nkueue_local_queue_quota_reserved_wait_time_seconds" + local +
                " 10\nkueue_admitted_workloads_total" + queue +
                " 1\nkueue_local_queue_admitted_workloads_total" + local +
                " 1\nkueue_admission_wait_time_seconds" + queue +
                " 10\nkueue_local_queue_admission_wait_time_seconds" + local +
                " 10\nkueue_evicted_workloads_total" + queue +
                " reason=Preempted underlying_cause= 1\nkueue_local_queue_evicted_workloads_total" +
                local +
                " reason=Preempted underlying_cause= 1\nkueue_evicted_workloads_once_total" +
                queue +
                " reason=Preempted detailed_reason= 1\n"
                "kueue_preempted_workloads_total preempting_cluster_queue=team "
                "reason=InClusterQueue 1\n");
}

TEST(KueueInstruments, CountEvictionsByTheirCause) {
  const auto with = [](const std::string& evicted_at, const std::string& evictions,
                       const std::string& admission = "{clusterQueue: cq}") {
    return Object(
        from_yaml("{metadata: {name: w, namespace: bench}, spec: {queueName: lq}, status: "
                  "{admission: " +
                  admission + ", schedulingStats: {evictions: [" + evictions +
                  "]}, conditions: [{type: Evicted, status: \"True\", reason: PodsReadyTimeout, "
                  "lastTransitionTime: \"" +
                  evicted_at + "\"}]}}"));
  };
  const std::string start = "{reason: PodsReadyTimeout, underlyingCause: WaitForStart, count: ";
  const std::string lost = "{reason: PodsReadyTimeout, underlyingCause: WaitForRecovery, count: ";
  const Object first = with("2026-01-05T00:01:00Z", start + "1}");
  const Object second = with("2026-01-05T00:02:00Z", start + "2}");
  const Object third = with("2026-01-05T00:03:00Z", start + "2}, " + lost + "1}");
  const Object waiting = with("2026-01-05T00:04:00Z", start + "3}, " + lost + "1}", "null");
  Samples samples;
  for (const auto& [before, after] :
       {std::pair(&first, &second), {&second, &third}, {&third, &waiting}}) {
    kueue_instruments().tally(ObjectChanged{api::kueue::kWorkload, before, after}, samples);
  }
  const std::string queue = " cluster_queue=cq priority_class= reason=PodsReadyTimeout";
  EXPECT_EQ(text_of(samples, "kueue_evicted"),
            "kueue_evicted_workloads_total" + queue +
                " underlying_cause=WaitForStart 1\nkueue_evicted_workloads_total" + queue +
                " underlying_cause=WaitForRecovery 1\nkueue_evicted_workloads_once_total" + queue +
                " detailed_reason=WaitForRecovery 1\n");
}

// The condition of a deactivation names its cause, its counter has a label for it.
TEST(KueueInstruments, CountDeactivationsByTheirCause) {
  const auto with = [](const std::string& conditions, const std::string& evictions) {
    return Object(from_yaml(
        "{metadata: {name: w, namespace: bench}, spec: {queueName: lq}, status: {admission: "
        "{clusterQueue: cq}, schedulingStats: {evictions: [" +
        evictions + "]}, conditions: [" + conditions + "]}}"));
  };
  const Object before = with("", "");
  const Object after = with(
      "{type: Evicted, status: \"True\", reason: DeactivatedDueToAdmissionCheck, "
      "lastTransitionTime: \"2026-01-05T00:01:00Z\"}",
      "{reason: Deactivated, underlyingCause: AdmissionCheck, count: 1}");
  Samples samples;
  kueue_instruments().tally(ObjectChanged{api::kueue::kWorkload, &before, &after}, samples);
  const std::string queue = " cluster_queue=cq priority_class= reason=Deactivated";
  EXPECT_EQ(text_of(samples, "kueue_evicted"),
            "kueue_evicted_workloads_total" + queue +
                " underlying_cause=AdmissionCheck 1\nkueue_evicted_workloads_once_total" + queue +
                " detailed_reason=AdmissionCheck 1\n");
}

// The series that a change of a removed queue clears, of a table with every kind of metric.
TEST(KueueInstruments, ClearCountersOfRemovedQueues) {
  const Object queue(from_yaml("{metadata: {name: q, namespace: bench}}"));
  for (const Kind* kind : {&api::kueue::kClusterQueue, &api::kueue::kLocalQueue}) {
    const bool cluster = kind == &api::kueue::kClusterQueue;
    Samples samples;
    kueue_instruments().tally(ObjectChanged{*kind, &queue, nullptr}, samples);
    for (const MetricInfo& info : kueue_instruments().metrics) {
      const auto found = std::ranges::find(samples, info.name, &Sample::metric);
      ASSERT_EQ(found == samples.end(), info.type == MetricType::Gauge) << info.name;
      if (found == samples.end()) {
        continue;
      }
      EXPECT_EQ(found->act, Sample::Act::Clear);
      const MetricLabels wanted = !cluster ? MetricLabels{{"name", "q"}, {"namespace", "bench"}}
                                  : info.name == "kueue_preempted_workloads_total"
                                      ? MetricLabels{{"preempting_cluster_queue", "q"}}
                                      : MetricLabels{{"cluster_queue", "q"}};
      EXPECT_EQ(found->labels, wanted) << info.name;
    }
    Samples none;
    kueue_instruments().tally(ObjectChanged{*kind, &queue, &queue}, none);
    EXPECT_TRUE(none.empty()) << "a queue that is there keeps its counters";
  }
}

}  // namespace
}  // namespace athanor::kueue::test::instruments_test
