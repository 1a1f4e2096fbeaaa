// SPDX-License-Identifier: Apache-2.0
#include "base/process/child_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace athanor::child_process_test {
namespace {

using testing::Contains;
using testing::Not;

TEST(ChildProcess, ReplacesInheritedVariablesOfSameName) {
  ASSERT_EQ(::setenv("ATHANOR_CHILD", "inherited", 1), 0);
  ASSERT_EQ(::setenv("ATHANOR_CHILDREN", "kept", 1), 0);
  const auto words = child_environment({{"ATHANOR_CHILD", "a=b"}, {"ATHANOR_NEW", ""}});
  EXPECT_THAT(words, Contains("ATHANOR_CHILD=a=b").Times(1));
  EXPECT_THAT(words, Not(Contains("ATHANOR_CHILD=inherited")));
  EXPECT_THAT(words, Contains("ATHANOR_CHILDREN=kept"));
  EXPECT_THAT(words, Contains("ATHANOR_NEW="));
  ::unsetenv("ATHANOR_CHILD");
  ::unsetenv("ATHANOR_CHILDREN");
}

TEST(ChildProcess, PointersEndWithANullPointer) {
  std::vector<std::string> words{"program", "--flag"};
  const auto pointers = exec_pointers(words);
  ASSERT_EQ(pointers.size(), 3U);
  EXPECT_STREQ(pointers[0], "program");
  EXPECT_STREQ(pointers[1], "--flag");
  EXPECT_EQ(pointers[2], nullptr);
}

}  // namespace
}  // namespace athanor::child_process_test
