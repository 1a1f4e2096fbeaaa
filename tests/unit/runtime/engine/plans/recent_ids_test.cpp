// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/plans/recent_ids.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::runtime::recent_ids_test {
namespace {

TEST(RecentIds, AnIdIsNewOnce) {
  RecentIds ids(10);
  EXPECT_TRUE(ids.insert("pod.start:a"));
  EXPECT_TRUE(ids.insert("pod.start:b"));
  EXPECT_FALSE(ids.insert("pod.start:a"));
  EXPECT_TRUE(ids.insert(""));
  EXPECT_FALSE(ids.insert(""));
}

TEST(RecentIds, RemembersAtLeastRequestedNumber) {
  constexpr int kCount = 500;
  RecentIds ids(kCount);
  for (int i = 0; i < 7 * kCount; ++i) {
    ASSERT_TRUE(ids.insert(std::to_string(i)));
    if (i >= kCount) {
      ASSERT_FALSE(ids.insert(std::to_string(i - kCount + 1)));
    }
  }
}

TEST(RecentIds, ForgetsOldIds) {
  RecentIds ids(100);
  for (int i = 0; i < 1000; ++i) {
    ids.insert(std::to_string(i));
  }
  EXPECT_TRUE(ids.insert("0"));
}

}  // namespace
}  // namespace athanor::runtime::recent_ids_test
