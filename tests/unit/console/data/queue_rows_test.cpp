// SPDX-License-Identifier: Apache-2.0
// Quota of ClusterQueues and clusters as the console shows it (docs/spec/dashboard.md B4.4, B4.5).
#include "console/data/queue_rows.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "console/data/cluster_rows.hpp"
#include "kube/text/yaml.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::console::queue_rows_test {
namespace {

Object queue(const std::string& name, const std::string& cohort, const std::string& use) {
  return Object(yaml::parse("{metadata: {name: " + name + "}, spec: {cohortName: \"" + cohort +
                            "\", resourceGroups: [{flavors: [{name: c1, resources: [{name: "
                            "fournos/gpu-a100, nominalQuota: 8}]}]}]}, status: {flavorsUsage: "
                            "[{name: c1, resources: [{name: fournos/gpu-a100, " +
                            use + "}]}]}}")
                    .value());
}

std::shared_ptr<const KindObjects> shared(std::vector<Object> objects) {
  return std::make_shared<const KindObjects>(
      KindObjects{.objects = std::move(objects), .synced = true});
}

Facts facts(std::vector<Object> queues) {
  return Facts(
      {{&api::kueue::kClusterQueue, shared(std::move(queues))},
       {&api::kFournosCluster,
        shared({Object(yaml::parse("{metadata: {name: c1, namespace: h}, spec: {hardware: {gpus: "
                                   "[{shortName: a100, count: 12}]}}, status: {nodes: [{name: n1, "
                                   "gpu: a100, allocatable: 8, ready: true}]}}")
                           .value())})}},
      1);
}

// A Workload of LocalQueue "q" that was made at an hour of the day.
Object workload(const std::string& name, const std::string& hour, const std::string& conditions) {
  return Object(yaml::parse("{metadata: {name: " + name + ", namespace: team, uid: " + name +
                            ", creationTimestamp: \"2026-01-31T" + hour +
                            ":00:00Z\"}, spec: {queueName: q}, status: {conditions: [" +
                            conditions + "]}}")
                    .value());
}

Facts queued(std::vector<Object> workloads, std::vector<Object> maps) {
  return Facts({{&api::kueue::kWorkload, shared(std::move(workloads))},
                {&api::kueue::kLocalQueue,
                 shared({Object(
                     yaml::parse("{metadata: {name: q, namespace: team}, spec: {clusterQueue: cq}}")
                         .value())})},
                {&kQueueConfiguration, shared(std::move(maps))}},
               1);
}

TEST(QueueRows, ShowFinishedWorkloadsLast) {
  const Facts state =
      queued({workload("done", "08",
                       "{type: Finished, status: \"True\", message: all pods succeeded, "
                       "lastTransitionTime: \"2026-01-31T10:00:00Z\"}"),
              workload("waits", "09", "")},
             {});
  const JobSurroundings around = job_surroundings(state);
  const std::vector<Value> rows = workload_rows(state, around);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["name"].str() + " " + rows[0]["state"].str(), "waits waits");
  EXPECT_EQ(rows[0]["position"].as_int(), 1) << "finished ones have no place";
  EXPECT_EQ(rows[1]["name"].str() + " " + rows[1]["state"].str(), "done finished");
  EXPECT_EQ(rows[1]["says"].str(), "all pods succeeded");
  EXPECT_EQ(rows[1]["finished"].str(), "2026-01-31T10:00:00Z");
  EXPECT_EQ(rows[1]["clusterQueue"].str(), "cq");
  EXPECT_FALSE(rows[1].contains("position"));
  EXPECT_EQ(queue_page(state, around)["localQueues"][0]["waiting"].as_int(), 1);
}

TEST(QueueRows, CountPlacesByTheConfiguredTimestamp) {
  const auto first = [](std::vector<Object> maps) {
    const Facts state =
        queued({workload("evicted", "08",
                         "{type: Evicted, status: \"True\", reason: PodsReadyTimeout, "
                         "lastTransitionTime: \"2026-01-31T10:00:00Z\"}"),
                workload("later", "09", "")},
               std::move(maps));
    return workload_rows(state, job_surroundings(state)).at(0)["name"].str();
  };
  EXPECT_EQ(first({}), "later") << "by eviction";
  const Value map = Value::object(
      {{"data", Value::object({{"controller_manager_config.yaml",
                                "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                "waitForPodsReady: {timeout: 5m, requeuingStrategy: {timestamp: "
                                "Creation}}\n"}})}});
  EXPECT_EQ(first({Object(map)}), "evicted");
}

TEST(QueueRows, ShowLentQuota) {
  const Facts state =
      facts({queue("a", "all", "total: 2, borrowed: 0"),
             queue("b", "all", "total: 11, borrowed: 3"), queue("c", "", "total: 1, borrowed: 0")});
  const Value page = queue_page(state, job_surroundings(state));
  const auto lent = [&](std::size_t index) {
    return page["clusterQueues"][index]["quotas"][0]["lent"].str();
  };
  EXPECT_EQ(lent(0), "3");
  EXPECT_EQ(lent(1), "0");
  EXPECT_EQ(lent(2), "0") << "without a cohort";
}

TEST(ClusterRows, MarkQuotaThatDiffersFromHardware) {
  const Facts state = facts({queue("a", "", "total: 2"), queue("b", "", "total: 1")});
  const Value page = cluster_page(state, job_surroundings(state), "c1", {.all = true});
  ASSERT_EQ(page["quota"].size(), 1U);
  EXPECT_EQ(page["quota"][0]["quota"].str(), "16") << "of both queues";
  EXPECT_EQ(page["quota"][0]["discovered"].str(), "12");
  EXPECT_TRUE(page["quota"][0]["differs"].as_bool());
  EXPECT_EQ(page["cluster"]["gpus"][0]["used"].as_int(), 3);
  EXPECT_EQ(page["nodes"][0]["name"].str(), "n1");
}

}  // namespace
}  // namespace athanor::console::queue_rows_test
