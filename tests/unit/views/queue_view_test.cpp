// SPDX-License-Identifier: Apache-2.0
// athanor queue: places and reasons.
#include "views/queue_view.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::views::queue_view_test {
namespace {

Object workload(const std::string& name, int priority, const std::string& created,
                const std::string& conditions) {
  return Object(
      *yaml::parse("{metadata: {name: " + name + ", namespace: ns, creationTimestamp: \"" +
                   created + "\"}, spec: {queueName: q, priority: " + std::to_string(priority) +
                   ", podSets: [{count: 2, template: {spec: {containers: [{resources: {requests: "
                   "{gpu: 3}}}]}}}]}, status: {conditions: [" +
                   conditions + "]}}"));
}

TEST(QueueView, SortsByRunningThenPriorityThenAge) {
  const auto entries = queue_entries({
      workload("late", 0, "2026-01-01T00:00:09Z",
               "{type: QuotaReserved, status: \"False\", message: no room}"),
      workload("early", 0, "2026-01-01T00:00:01Z", ""),
      workload("urgent", 9, "2026-01-01T00:00:05Z", ""),
      workload("running", 0, "2026-01-01T00:00:00Z", "{type: QuotaReserved, status: \"True\"}"),
      workload("done", 0, "2026-01-01T00:00:00Z", "{type: Finished, status: \"True\"}"),
  });
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].workload.name(), "running");
  EXPECT_EQ(entries[1].workload.name(), "urgent");
  EXPECT_EQ(entries[2].workload.name(), "early");
  EXPECT_EQ(entries[3].position, 3U);
  EXPECT_EQ(entries[3].reason, "no room");
  EXPECT_EQ(entries[3].queue_says, "no room");
  EXPECT_EQ(entries[3].requests, "gpu=6");
  EXPECT_EQ(queue_position(entries, "ns", "early"), (QueuePlace{.place = 2, .of = 3}));
  EXPECT_EQ(queue_position(entries, "ns", "running"), std::nullopt);
}

TEST(QueueView, ListsRunningWorkloadsNewestFirst) {
  const char* admitted = "{type: QuotaReserved, status: \"True\"}";
  const auto entries = queue_entries({workload("old", 0, "2026-01-01T00:00:01Z", admitted),
                                      workload("new", 0, "2026-01-01T00:00:02Z", admitted)});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].workload.name(), "new");
}

// The queueing counts overhead, init containers and transformations, too.
TEST(QueueView, ShowsRequestsAsTheQueueCountsThem) {
  Value waiting = workload("waits", 0, "2026-01-01T00:00:01Z", "").body();
  waiting.member("status").set("resourceRequests",
                               *yaml::parse("[{name: a, resources: {gpu: 7, cpu: 500m}}, {name: b, "
                                            "resources: {cpu: 1500m}}]"));
  Value running =
      workload("runs", 0, "2026-01-01T00:00:02Z", "{type: QuotaReserved, status: \"True\"}").body();
  running.member("status").set(
      "admission", *yaml::parse("{podSetAssignments: [{name: a, flavors: {gpu: f}, resourceUsage: "
                                "{gpu: 9}}]}"));
  const auto entries = queue_entries({Object(waiting), Object(running)});
  EXPECT_EQ(entries.at(0).requests, "gpu=9");
  EXPECT_EQ(entries.at(1).requests, "cpu=2,gpu=7");
}

TEST(QueueView, CountsPlacesOfEachNamespace) {
  Value other = workload("theirs", 5, "2026-01-01T00:00:00Z", "").body();
  other.member("metadata").set("namespace", "elsewhere");
  const auto entries =
      queue_entries({workload("first", 0, "2026-01-01T00:00:01Z", ""), Object(std::move(other)),
                     workload("second", 0, "2026-01-01T00:00:02Z", "")});
  EXPECT_EQ(queue_position(entries, "elsewhere", "theirs"), (QueuePlace{.place = 1, .of = 1}));
  EXPECT_EQ(queue_position(entries, "ns", "first"), (QueuePlace{.place = 1, .of = 2}));
  EXPECT_EQ(queue_position(entries, "ns", "second"), (QueuePlace{.place = 2, .of = 2}));
}

TEST(QueueView, ReadsGroupsOfTheClusterQueue) {
  const Object queue(*yaml::parse(
      "{metadata: {name: cq}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: "
      "small}]}, {coveredResources: [gpu], flavors: [{name: cards}, {name: old}]}]}}"));
  const Object local(
      *yaml::parse("{metadata: {name: q, namespace: ns}, spec: {clusterQueue: cq}}"));
  const Object lost(*yaml::parse("{metadata: {name: l, namespace: ns}, spec: {clusterQueue: no}}"));
  const QueueGroups groups = queue_groups({local, lost}, {queue});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.at({"ns", "q"}), (FlavorGroups{{"small", 0}, {"cards", 1}, {"old", 1}}));
  const auto entries = queue_entries(
      {workload("w", 0, "2026-01-01T00:00:01Z",
                "{type: QuotaReserved, status: \"False\", message: \"insufficient unused quota for "
                "cpu in flavor small, 1 more needed, insufficient quota for gpu in flavor cards, "
                "request > maximum capacity (3 > 2)\"}")},
      {.groups = groups});
  EXPECT_EQ(entries.at(0).reason, "3 gpu fit in no flavor (at most 2)");
}

TEST(QueueView, TheReasonIsTheQuotasInShort) {
  const auto entries = queue_entries({workload(
      "w", 0, "2026-01-01T00:00:01Z",
      "{type: QuotaReserved, status: \"False\", message: \"insufficient unused quota for "
      "fournos/gpu-a100 in flavor c1, 2 more needed\"}, {type: PodsReady, status: \"False\", "
      "message: not yet}")});
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].reason, "waits for a100: c1 lacks 2");
  EXPECT_EQ(entries[0].queue_says,
            "insufficient unused quota for fournos/gpu-a100 in flavor c1, 2 more needed");
}

}  // namespace
}  // namespace athanor::views::queue_view_test
