// SPDX-License-Identifier: Apache-2.0
#include "base/near_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace athanor::near_name_test {
namespace {

TEST(NearName, IsTheOneWithTheFewestEdits) {
  const std::vector<std::string> known{"submit", "jobs", "cluster-1", "cluster-2"};
  EXPECT_EQ(near_name("submti", known), "submit");
  EXPECT_EQ(near_name("cluster-9", known), "cluster-1");
  EXPECT_EQ(near_hint("job", known), ", did you mean jobs?");
  EXPECT_EQ(near_name("jbos", known), "jobs") << "swapped";
}

TEST(NearName, MayBeOneThatBeginsSo) {
  const std::vector<std::string> known{"FOURNOS_API", "FOURNOS_EVICTION_POLICY"};
  EXPECT_EQ(near_name("FOURNOS_EVICTION", known), "FOURNOS_EVICTION_POLICY");
  EXPECT_EQ(near_name("FO", known), "");
}

TEST(NearName, IsNothingWhereNoneIsNear) {
  const std::vector<std::string> known{"up", "jobs"};
  EXPECT_EQ(near_name("help", known), "");
  EXPECT_EQ(near_name("nonsense", known), "");
  EXPECT_EQ(near_hint("nonsense", known), "");
  const std::vector<std::string> flags{"--as", "--owner", "--since"};
  EXPECT_EQ(near_name("--phase", flags), "") << "another meaning";
  const std::vector<std::string> states{"Valid", "Paused"};
  EXPECT_EQ(near_name("Failed", states), "");
}

}  // namespace
}  // namespace athanor::near_name_test
