// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/subordinate_ids.hpp"

#include <gtest/gtest.h>

namespace athanor::nodes::subordinate_ids_test {
namespace {

TEST(SubordinateIds, AreFoundByNameOrNumber) {
  const std::string file = "root:1:2\nann:100000:65536\nann:900000:5\n1001:200000:70000\nbad:x:1\n";
  const auto ann = subordinate_range(file, "ann", 7);
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->first, 100000);
  EXPECT_EQ(ann->count, 65536);
  const auto numbered = subordinate_range(file, "bob", 1001);
  ASSERT_TRUE(numbered);
  EXPECT_EQ(numbered->first, 200000);
  EXPECT_EQ(numbered->count, 65536) << "no more than a container may expect";
  EXPECT_FALSE(subordinate_range(file, "bad", 7));
  EXPECT_FALSE(subordinate_range("", "ann", 7));
  EXPECT_FALSE(subordinate_range("ann:1:0", "ann", 7));
}

TEST(SubordinateIds, SurroundTheOwnOne) {
  EXPECT_EQ(map_arguments(0, 1000, {.first = 100000, .count = 65536}), "0 1000 1 1 100000 65536");
  EXPECT_EQ(map_arguments(1000, 1000, {.first = 100000, .count = 65536}),
            "1000 1000 1 0 100000 1000 1001 101000 64536");
  EXPECT_EQ(map_arguments(70000, 1000, {.first = 100000, .count = 65536}),
            "70000 1000 1 0 100000 65536");
}

}  // namespace
}  // namespace athanor::nodes::subordinate_ids_test
