// SPDX-License-Identifier: Apache-2.0
// Kueue's texts (docs/spec/kueue.md 7.3) in a person's words.
#include "views/reasons.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace athanor::views::reasons_test {
namespace {

TEST(Reasons, NameUsedResourcesByCluster) {
  EXPECT_EQ(clear_reason("Waiting for admission: couldn't assign flavors to pod set launcher: "
                         "flavor cluster-2 doesn't match node affinity, insufficient unused quota "
                         "for fournos/gpu-a100 in flavor cluster-1, 8 more needed, insufficient "
                         "quota for fournos/gpu-a100 in flavor cluster-3, previously considered "
                         "podsets requests (0) + current podset request (8) > maximum capacity "
                         "(0), insufficient unused quota for fournos/gpu-a100 in flavor cluster-4, "
                         "2 more needed"),
            "waits for a100: cluster-1 lacks 8, cluster-4 lacks 2");
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set launcher: insufficient unused quota "
                         "for fournos/cluster-slot in flavor edge, 1 more needed"),
            "waits for slots: edge lacks 1");
}

TEST(Reasons, NameLargestClusterForImpossibleRequests) {
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set launcher: insufficient quota for "
                         "fournos/gpu-h200 in flavor cluster-1, previously considered podsets "
                         "requests (0) + current podset request (99) > maximum capacity (0), "
                         "insufficient quota for fournos/gpu-h200 in flavor cluster-3, previously "
                         "considered podsets requests (0) + current podset request (99) > maximum "
                         "capacity (8)"),
            "99 h200 fit in no cluster (at most 8)");
  EXPECT_EQ(clear_reason("insufficient quota for cpu in flavor f, request > maximum capacity (9 > "
                         "4)"),
            "9 cpu fit in no flavor (at most 4)");
}

TEST(Reasons, NameTheClusterOfPinnedJobs) {
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set launcher: flavor cluster-2 doesn't "
                         "match node affinity, insufficient quota for fournos/gpu-h200 in flavor "
                         "cluster-1, previously considered podsets requests (0) + current podset "
                         "request (8) > maximum capacity (0)"),
            "8 h200 do not fit in cluster-1 (at most 0)");
  const std::string cordoned =
      "insufficient quota for fournos/cluster-slot in flavor edge, previously considered podsets "
      "requests (0) + current podset request (1) > maximum capacity (0)";
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set launcher: flavor c doesn't match node "
                         "affinity, " +
                         cordoned),
            "edge is cordoned or out of service");
  EXPECT_EQ(clear_reason(cordoned), "all its clusters are cordoned or out of service");
}

// A cluster whose slots are all taken may also be one that never has enough GPUs.
TEST(Reasons, NameTheLastingObstacleFirst) {
  const std::string slots =
      "insufficient unused quota for fournos/cluster-slot in flavor c1, 1 more needed";
  const auto never = [](const std::string& flavor, int most) {
    return "insufficient quota for fournos/gpu-a100 in flavor " + flavor +
           ", previously considered podsets requests (0) + current podset request (99) > maximum "
           "capacity (" +
           std::to_string(most) + ")";
  };
  const std::string pod_set = "couldn't assign flavors to pod set launcher: ";
  EXPECT_EQ(clear_reason(pod_set + never("c1", 8) + ", " + never("c2", 4) + ", " + slots),
            "99 a100 fit in no cluster (at most 8)");
  EXPECT_EQ(clear_reason(pod_set + never("c2", 4) + ", " + slots), "waits for slots: c1 lacks 1");
  EXPECT_EQ(clear_reason(pod_set + slots +
                         ", resource memory unavailable in ClusterQueue, resource "
                         "nvidia.com/gpu unavailable in ClusterQueue"),
            "its queue has no quota of memory, nvidia.com/gpu");
  EXPECT_EQ(clear_reason(pod_set + slots +
                         "; couldn't assign flavors to pod set workers: " + never("c2", 4)),
            "99 a100 fit in no cluster (at most 4)");
}

TEST(Reasons, JudgeEachGroupOfFlavors) {
  const std::string text =
      "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor small, "
      "1 more needed, insufficient quota for gpu in flavor cards, previously considered podsets "
      "requests (0) + current podset request (3) > maximum capacity (2)";
  EXPECT_EQ(clear_reason(text, {{"small", 0}, {"cards", 1}}), "3 gpu fit in no flavor (at most 2)");
  EXPECT_EQ(clear_reason(text, {{"small", 0}, {"cards", 0}}), "waits for cpu: small lacks 1");
}

// Each pod set of a group fits alone; all of them together do not.
TEST(Reasons, SumRequestsOfPodSetsOfAGroup) {
  const auto never = [](const char* set, const char* earlier, const char* current,
                        const char* most) {
    return fmt::format(
        "couldn't assign flavors to pod set {}: insufficient quota for cpu in flavor f, previously "
        "considered podsets requests ({}) + current podset request ({}) > maximum capacity ({})",
        set, earlier, current, most);
  };
  EXPECT_EQ(clear_reason(never("main-1", "6", "6", "9")), "12 cpu fit in no flavor (at most 9)");
  EXPECT_EQ(clear_reason(never("main-1", "1500m", "8", "9")),
            "9500m cpu fit in no flavor (at most 9)");
  EXPECT_EQ(clear_reason(never("main-0", "0", "3", "2") + "; " + never("main-1", "3", "4", "5")),
            "3 cpu fit in no flavor (at most 2)");
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set main-0: insufficient unused quota for "
                         "cpu in flavor f, 1 more needed; " +
                         never("main-1", "6", "6", "9")),
            "12 cpu fit in no flavor (at most 9)")
      << "one pod set waits, the group never fits";
}

TEST(Reasons, OtherTextsStayAsTheyAre) {
  for (const char* text :
       {"", "Pipeline completed successfully", "insufficient quota for x", "insufficient unused ",
        "insufficient unused quota for a in flavor b, some", " unavailable in ClusterQueue"}) {
    EXPECT_EQ(clear_reason(text), text);
  }
}

}  // namespace
}  // namespace athanor::views::reasons_test
