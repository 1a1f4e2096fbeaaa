// SPDX-License-Identifier: Apache-2.0
// Writes, events, conditions and metrics of the exporter (docs/spec/numa.md 9.8 to 9.11).
#include "systems/numa/exporter/writing.hpp"

#include <gtest/gtest.h>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/exporter/events.hpp"
#include "systems/numa/exporter/metrics.hpp"
#include "systems/numa/exporter/pod_conditions.hpp"

namespace athanor::numa::writing_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Value content(int available) {
  return Value::object(
      {{"metadata", Value::object({{"annotations", Value::object({{"a", "1"}})}})},
       {"attributes", Value::list()},
       {"zones", Value::list({Value::object({{"name", "node-0"}, {"free", available}})})}});
}

TEST(NumaWriting, PatchesBetweenWholeUpdates) {
  WritePlanner planner("w", true, 3);
  WriteStep step = planner.next(content(1));
  EXPECT_EQ(step.kind, WriteStep::Kind::Replace);
  planner.written(step, content(1));
  step = planner.next(content(1));
  EXPECT_EQ(step.kind, WriteStep::Kind::Nothing);  // no empty patch is sent
  planner.written(step, content(1));
  step = planner.next(content(2));
  EXPECT_EQ(step.kind, WriteStep::Kind::Patch);
  EXPECT_EQ(json::print(step.patch), R"({"zones":[{"name":"node-0","free":2}]})");
  EXPECT_GT(step.patch_ratio, 0);
  EXPECT_LT(step.patch_ratio, 1);
  EXPECT_EQ(apply_merge_patch(content(1), step.patch), content(2));
  planner.written(step, content(2));
  EXPECT_EQ(planner.next(content(2)).kind, WriteStep::Kind::Replace);  // the third since the whole
}

TEST(NumaWriting, LooksAtTheWholeObjectAfterAFailure) {
  WritePlanner planner("w", true, 10);
  planner.written(planner.next(content(1)), content(1));
  ASSERT_EQ(planner.next(content(2)).kind, WriteStep::Kind::Patch);
  planner.failed();
  EXPECT_EQ(planner.next(content(2)).kind, WriteStep::Kind::Replace);
  const WritePlanner whole("w", false, 10);
  EXPECT_EQ(whole.next(content(1)).kind, WriteStep::Kind::Replace);
}

TEST(NumaWriting, MergesAnnotationsAndReplacesTheRest) {
  const Value created = create_body("worker-0", content(1));
  EXPECT_EQ(created["metadata"]["name"].str(), "worker-0");
  EXPECT_EQ(created["apiVersion"].str(), "topology.node.k8s.io/v1alpha2");
  Value live = created;
  live.set_path({"metadata", "annotations", "mine"}, "kept");
  live.set_path({"metadata", "resourceVersion"}, "7");
  EXPECT_TRUE(update_body(Object(live), content(1)).is_null());  // nothing to write
  live.set("topologyPolicies", Value::list({"SingleNUMANodePodLevel"}));
  live.set("zones", Value::list({Value::object({{"name", "by-hand"}})}));
  const Value updated = update_body(Object(live), content(2));
  EXPECT_EQ(updated["metadata"]["annotations"]["mine"].str(), "kept");
  EXPECT_EQ(updated["metadata"]["resourceVersion"].str(), "7");
  EXPECT_EQ(updated["zones"], content(2)["zones"]);
  EXPECT_EQ(updated["topologyPolicies"].size(), 1U);
}

TEST(NumaEvents, RingsAtTheStartAndAtTheTimer) {
  const Instant start{seconds(1000)};
  EventSource events(seconds(10), 1, seconds(1), start);
  EXPECT_EQ(events.due(start), start);
  EXPECT_EQ(events.take(start), Trigger::Periodic);
  EXPECT_FALSE(events.take(start + seconds(9)).has_value());
  EXPECT_EQ(events.due(start), start + seconds(10));
  EXPECT_EQ(events.take(start + seconds(10)), Trigger::Periodic);
  EventSource once(Duration(0), 1, seconds(1), start);
  EXPECT_EQ(once.take(start), Trigger::Periodic);
  EXPECT_FALSE(once.due(start).has_value());
  EXPECT_FALSE(once.take(start + seconds(3600)).has_value());
}

TEST(NumaEvents, LimitsTheRateAndDropsTheSurplus) {
  const Instant start{seconds(1000)};
  EventSource events(Duration(0), 1, seconds(1), start);
  ASSERT_TRUE(events.take(start).has_value());
  for (int i = 0; i < 20; ++i) {
    events.notified();
  }
  EXPECT_FALSE(events.take(start + milliseconds(999)).has_value());
  EXPECT_EQ(events.due(start), start + seconds(1));
  int taken = 0;
  for (int i = 1; i < 30; ++i) {
    taken += events.take(start + seconds(i)) == Trigger::Reactive ? 1 : 0;
  }
  EXPECT_EQ(taken, EventSource::kBuffer);
  EventSource free(Duration(0), 0, seconds(1), start);
  ASSERT_TRUE(free.take(start).has_value());
  free.notified();
  free.notified();
  EXPECT_TRUE(free.take(start).has_value());
  EXPECT_TRUE(free.take(start).has_value());
}

TEST(NumaEvents, OutlivesAClockThatStepsBack) {
  const Instant start{seconds(1000)};
  EventSource events(seconds(10), 1, seconds(1), start);
  ASSERT_TRUE(events.take(start).has_value());
  const Instant earlier = start - seconds(600);
  EXPECT_FALSE(events.take(earlier).has_value());
  EXPECT_EQ(events.take(earlier + seconds(10)), Trigger::Periodic);
}

TEST(NumaPodConditions, ReportFailedPart) {
  const Instant now{seconds(1000)};
  const Object pod(json::parse(R"({"metadata": {"name": "p"}, "status": {"conditions":
      [{"type": "Ready", "status": "False"}]}})")
                       .value());
  const Value good = pod_conditions(pod, {.scanned = true, .written = true}, now);
  EXPECT_EQ(good.size(), 3U);
  EXPECT_EQ(find_condition(good, "PodresourcesFetched")["status"].str(), "True");
  EXPECT_EQ(find_condition(good, "NodeTopologyUpdated")["status"].str(), "True");
  Value body = pod.body();
  body.set_path({"status", "conditions"}, good);
  EXPECT_TRUE(pod_conditions(Object(body), {.scanned = true, .written = true}, now).is_null());
  const Value failed = pod_conditions(Object(body), {.scanned = false}, now);
  EXPECT_EQ(find_condition(failed, "PodresourcesFetched")["reason"].str(), "ScanFailed");
  EXPECT_EQ(find_condition(failed, "PodresourcesFetched")["message"].str(),
            "failed to scan pod resources");
  EXPECT_EQ(find_condition(failed, "NodeTopologyUpdated")["status"].str(), "True");
  const Value lost = pod_conditions(Object(body), {.scanned = true, .written = false}, now);
  EXPECT_EQ(find_condition(lost, "NodeTopologyUpdated")["reason"].str(), "UpdateFailed");
  EXPECT_EQ(find_condition(lost, "NodeTopologyUpdated")["message"].str(),
            "failed to update noderesourcetopology object");
}

TEST(NumaExporterMetrics, PrintsEverySeries) {
  ExporterMetrics metrics("w");
  metrics.call_failed("list");
  metrics.wrote("create", Trigger::Periodic);
  metrics.wrote("patch", Trigger::Reactive);
  metrics.took("podresources_scan", Trigger::Periodic, milliseconds(3));
  metrics.woke(Trigger::Periodic, milliseconds(2));
  metrics.patch_failed("send_patch");
  metrics.patched(0.25);
  const std::string text = metrics.text();
  for (
      const char* line :
      {R"(rte_podresource_api_call_failures_total{node="w",function_name="list"} 1)",
       R"(rte_noderesourcetopology_writes_total{node="w",operation="create",trigger="periodic"} 1)",
       R"(rte_noderesourcetopology_writes_total{node="w",operation="patch",trigger="reactive"} 1)",
       R"(rte_operation_delay_milliseconds{node="w",operation_name="podresources_scan",trigger="periodic"} 3)",
       R"(rte_wakeup_delay_milliseconds{node="w",trigger="periodic"} 2)",
       R"(rte_noderesourcetopology_patch_failures_total{node="w",trigger="send_patch"} 1)",
       R"(rte_noderesourcetopology_patch_size_ratio_bucket{node="w",le="0.2"} 0)",
       R"(rte_noderesourcetopology_patch_size_ratio_bucket{node="w",le="0.3"} 1)",
       R"(rte_noderesourcetopology_patch_size_ratio_bucket{node="w",le="+Inf"} 1)",
       R"(rte_noderesourcetopology_patch_size_ratio_count{node="w"} 1)"}) {
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace athanor::numa::writing_test
