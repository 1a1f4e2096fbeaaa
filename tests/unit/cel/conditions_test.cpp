// SPDX-License-Identifier: Apache-2.0
// Conditions of when expressions: their values, and what all of one object may cost.
#include "cel/conditions.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

namespace athanor::cel::conditions_test {
namespace {

// A condition of 10^levels steps that no other one equals.
std::string loops(int levels, int number) {
  std::string text = fmt::format("{} >= 0", number);
  for (int level = 0; level < levels; ++level) {
    text = fmt::format("[1,2,3,4,5,6,7,8,9,10].all(v{}, {})", level, text);
  }
  return text;
}

TEST(Conditions, HaveTheValueOfTheirExpression) {
  Conditions conditions;
  EXPECT_TRUE(*conditions.holds("'a' in ['a', 'b']"));
  EXPECT_FALSE(*conditions.holds("1 > 2"));
  EXPECT_EQ(conditions.holds("1 + 1").error().message, "is not evaluated to a boolean");
  EXPECT_NE(conditions.holds("1 / 0 == 1").error().message.find("division by zero"),
            std::string::npos);
  EXPECT_FALSE(conditions.holds("unknown == 1").ok());
}

TEST(Conditions, CostABoundedTimeTogether) {
  Conditions conditions;
  int held = 0;
  int refused = 0;
  for (int i = 0; i < 1200; ++i) {
    const auto value = conditions.holds(loops(3, i));
    (value.ok() ? held : refused) += 1;
    if (!value.ok()) {
      EXPECT_EQ(value.error().message, "conditions cost too much, together with those before it");
    }
  }
  EXPECT_GT(held, 5);
  EXPECT_GT(refused, 1000);
}

TEST(Conditions, AreEvaluatedOnce) {
  Conditions conditions;
  const std::string costly = loops(4, 0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(conditions.holds(costly).ok()) << i;
  }
}

}  // namespace
}  // namespace athanor::cel::conditions_test
