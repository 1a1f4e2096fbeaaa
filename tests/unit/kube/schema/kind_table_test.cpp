// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/kind_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::kind_table_test {
namespace {

TEST(KindTable, GivesOneObjectForOneName) {
  const Kind* first = nullptr;
  {
    const std::string group = "a-group-that-needs-the-heap.example.com";
    first = &kind_named(group, "v1", "Foo", "foos", true);
  }
  EXPECT_EQ(first->group, "a-group-that-needs-the-heap.example.com");
  EXPECT_EQ(first->api_version(), "a-group-that-needs-the-heap.example.com/v1");
  EXPECT_EQ(first,
            &kind_named("a-group-that-needs-the-heap.example.com", "v1", "Foo", "foos", true));
  EXPECT_NE(first,
            &kind_named("a-group-that-needs-the-heap.example.com", "v2", "Foo", "foos", true));
}

}  // namespace
}  // namespace athanor::kind_table_test
