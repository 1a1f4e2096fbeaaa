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

Facts facts(std::vector<Object> queues) {
  const auto shared = [](std::vector<Object> objects) {
    return std::make_shared<const KindObjects>(
        KindObjects{.objects = std::move(objects), .synced = true});
  };
  return Facts(
      {{&api::kueue::kClusterQueue, shared(std::move(queues))},
       {&api::kFournosCluster,
        shared({Object(yaml::parse("{metadata: {name: c1, namespace: h}, spec: {hardware: {gpus: "
                                   "[{shortName: a100, count: 12}]}}, status: {nodes: [{name: n1, "
                                   "gpu: a100, allocatable: 8, ready: true}]}}")
                           .value())})}},
      1);
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
