// SPDX-License-Identifier: Apache-2.0
// Lines of athanor clusters.
#include "views/cluster_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "kube/text/yaml.hpp"

namespace athanor::views::cluster_view_test {
namespace {

using Words = std::vector<std::string>;

Object object(const char* text) {
  return Object(*yaml::parse(text));
}

std::vector<Object> queues() {
  return {object(R"(
metadata: {name: fournos-queue}
spec:
  resourceGroups:
  - coveredResources: [fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200]
    flavors:
    - name: edge
      resources:
      - {name: fournos/cluster-slot, nominalQuota: 100}
      - {name: fournos/gpu-a100, nominalQuota: "8"}
      - {name: fournos/gpu-h200, nominalQuota: 0}
status:
  flavorsUsage:
  - name: edge
    resources:
    - {name: fournos/cluster-slot, total: "12"}
    - {name: fournos/gpu-a100, total: "4"}
)")};
}

TEST(ClusterView, UseIsThatOfTheScarcestResource) {
  const ClusterUse use = cluster_use(queues(), "edge");
  EXPECT_EQ(use.queues, "fournos-queue");
  EXPECT_EQ(use.utilisation, "50%");
  EXPECT_EQ(use.details, "slots 12/100, a100 4/8");
  EXPECT_EQ(cluster_use(queues(), "west").queues, "");
  EXPECT_EQ(cluster_use({}, "edge").utilisation, "");
}

// Against sums in thousandths of a unit over random queues.
TEST(ClusterView, UtilisationEqualsSumsOverTheQueues) {
  std::mt19937 random(1);
  const auto below = [&](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  for (int world = 0; world < 200; ++world) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;  // quota, used
    std::vector<Object> all;
    for (int queue = 0; queue < 1 + below(3); ++queue) {
      std::string quotas;
      std::string usage;
      for (const char* resource : {"cpu", "fournos/gpu-a100"}) {
        const bool whole = std::string(resource) != "cpu";
        const std::int64_t quota = whole ? 1000 * below(9) : 100 * below(80);
        const std::int64_t used = whole ? 1000 * below(9) : 100 * below(80);
        sums[resource].first += quota;
        sums[resource].second += used;
        const auto written = [&](std::int64_t milli) {
          return whole ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
        };
        quotas += std::string("{name: ") + resource + ", nominalQuota: " + written(quota) + "}, ";
        usage += std::string("{name: ") + resource + ", total: " + written(used) + "}, ";
      }
      all.push_back(object(("{metadata: {name: q" + std::to_string(queue) +
                            "}, spec: {resourceGroups: [{flavors: [{name: other}, {name: edge, "
                            "resources: [" +
                            quotas + "]}]}]}, status: {flavorsUsage: [{name: edge, resources: [" +
                            usage + "]}]}}")
                               .c_str()));
    }
    std::int64_t most = -1;
    for (const auto& [resource, sum] : sums) {
      if (sum.first > 0) {
        most = std::max(most, 100 * sum.second / sum.first);
      }
    }
    EXPECT_EQ(cluster_use(all, "edge").utilisation, most < 0 ? "" : std::to_string(most) + "%");
  }
}

TEST(ClusterView, BuildsRowsFromColumnsAndQueueState) {
  const Object cluster = object(R"(
metadata: {name: edge, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {owner: alice, ttl: 2h}
status:
  {kubeconfigStatus: Valid, gpuSummary: 8x A100, locked: true, lockJobName: cluster-lock-edge,
   lockExpiresAt: "2026-01-01T02:00:00Z", lockState: Held, nodeCount: 3, serverVersion: v1.35.4}
)");
  const Instant now = *parse_time("2026-01-01T01:00:00Z");
  EXPECT_EQ(cluster_header(false), (Words{"NAME", "OWNER", "GPUS", "KUBECONFIG", "LOCKED", "QUEUE",
                                          "UTILISATION", "AGE"}));
  const ClusterUse use = cluster_use(queues(), "edge");
  EXPECT_EQ(cluster_row(cluster, use, false, now),
            (Words{"edge", "alice", "8x A100", "Valid", "true", "fournos-queue", "50%", "60m"}));
  const Words wide = cluster_row(cluster, use, true, now);
  EXPECT_EQ(wide.size(), cluster_header(true).size());
  EXPECT_EQ(wide.size(), cluster_widths(true).size());
  EXPECT_EQ(wide[8], "cluster-lock-edge");
  EXPECT_EQ(cluster_row(object("metadata: {name: x}"), {}, false, now),
            (Words{"x", "-", "-", "-", "false", "-", "-", "<unknown>"}));
}

TEST(ClusterView, TroublesAreConditionsThatAreNotTrue) {
  const Object cluster = object(R"(
status:
  conditions:
  - {type: KubeconfigValid, status: "True", reason: Valid}
  - {type: GPUDiscovered, status: "False", reason: DiscoveryFailed, message: timeout after 10s}
  - {type: Locked, status: "False", reason: Unlocked}
  - {type: KueueSynced, status: "False", reason: ClusterQueueNotFound}
)");
  EXPECT_EQ(cluster_troubles(cluster), (Words{"GPUDiscovered: DiscoveryFailed: timeout after 10s",
                                              "KueueSynced: ClusterQueueNotFound"}));
}

TEST(ClusterView, LockTimes) {
  for (const char* good : {"1m", "30m", "4h", "2d", "0m", "999999999999d"}) {
    EXPECT_TRUE(is_lock_time(good)) << good;
  }
  for (const char* bad : {"", "m", "10s", "4 h", "1h30m", "-1m", "4"}) {
    EXPECT_FALSE(is_lock_time(bad)) << bad;
  }
}

TEST(ClusterView, ShowsClustersKnownToQueueAlone) {
  const Object flavor = object(
      "{metadata: {name: edge, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {nodeLabels: "
      "{fournos.dev/cluster: edge}}}");
  EXPECT_TRUE(is_cluster_flavor(flavor));
  EXPECT_FALSE(is_cluster_flavor(object("{metadata: {name: default-flavor}}")));
  const Instant now = *parse_time("2026-01-01T00:01:00Z");
  EXPECT_EQ(bare_row(flavor, cluster_use(queues(), "edge"), false, now),
            (Words{"edge", "-", "8x A100", "-", "-", "fournos-queue", "50%", "60s"}));
}

}  // namespace
}  // namespace athanor::views::cluster_view_test
