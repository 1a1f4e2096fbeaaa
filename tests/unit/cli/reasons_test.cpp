// SPDX-License-Identifier: Apache-2.0
// Kueue's texts (docs/spec/kueue.md 7.3) in a person's words.
#include "cli/reasons.hpp"

#include <gtest/gtest.h>

namespace athanor::cli {
namespace {

TEST(Reasons, WhatIsInUseIsNamedByCluster) {
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

TEST(Reasons, WhatNeverFitsIsToldWithTheMost) {
  EXPECT_EQ(clear_reason("couldn't assign flavors to pod set launcher: insufficient quota for "
                         "fournos/gpu-h200 in flavor cluster-1, previously considered podsets "
                         "requests (0) + current podset request (99) > maximum capacity (0), "
                         "insufficient quota for fournos/gpu-h200 in flavor cluster-3, previously "
                         "considered podsets requests (0) + current podset request (99) > maximum "
                         "capacity (8)"),
            "99 h200 fit in no cluster (at most 8)");
  EXPECT_EQ(clear_reason("insufficient quota for cpu in flavor f, request > maximum capacity (9 > "
                         "4)"),
            "9 cpu fit in no cluster (at most 4)");
}

TEST(Reasons, OtherTextsStayAsTheyAre) {
  for (const char* text :
       {"", "Pipeline completed successfully", "insufficient quota for x", "insufficient unused ",
        "insufficient unused quota for a in flavor b, some"}) {
    EXPECT_EQ(clear_reason(text), text);
  }
}

}  // namespace
}  // namespace athanor::cli
