// SPDX-License-Identifier: Apache-2.0
// athanor queue: places and reasons.
#include "cli/jobs/queue_view.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::cli {
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

TEST(QueueView, PutsRunningFirstThenByPriorityThenByAge) {
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
  EXPECT_EQ(queue_position(entries, "ns", "early"), 2U);
  EXPECT_EQ(queue_position(entries, "ns", "running"), std::nullopt);
}

TEST(QueueView, WhatRunsComesNewestFirst) {
  const char* admitted = "{type: QuotaReserved, status: \"True\"}";
  const auto entries = queue_entries({workload("old", 0, "2026-01-01T00:00:01Z", admitted),
                                      workload("new", 0, "2026-01-01T00:00:02Z", admitted)});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].workload.name(), "new");
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
}  // namespace athanor::cli
