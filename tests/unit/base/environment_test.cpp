// SPDX-License-Identifier: Apache-2.0
// Settings from variables: what is taken, what is refused, in which words.
#include "base/environment.hpp"

#include <gtest/gtest.h>

namespace athanor::environment_test {
namespace {

const Environment kVariables(std::map<std::string, std::string>{
    {"a_Name", "text"}, {"EMPTY", ""}, {"HALF", "0.5"}, {"TEN", "10"}, {"WORD", "ten"}});

std::string refusal(const Result<void>& result) {
  return result.ok() ? "" : result.error().message;
}

TEST(Environment, NamesInAnyCase) {
  EXPECT_EQ(*kVariables.find("A_NAME"), "text");
  EXPECT_EQ(kVariables.find("b"), nullptr);
}

TEST(Environment, ReadsEmptyVariableAsGivenWithoutText) {
  ASSERT_NE(kVariables.given("empty"), nullptr);
  EXPECT_EQ(kVariables.find("empty"), nullptr);
  std::string text = "before";
  kVariables.text("empty", text);
  EXPECT_EQ(text, "before");
}

TEST(Environment, Seconds) {
  double seconds = 7;
  EXPECT_EQ(refusal(kVariables.seconds("absent", seconds)), "");
  EXPECT_EQ(seconds, 7);
  EXPECT_EQ(refusal(kVariables.seconds("half", seconds)), "");
  EXPECT_EQ(seconds, 0.5);
  EXPECT_EQ(refusal(kVariables.seconds("WORD", seconds)),
            "ERROR: WORD=ten: must be a number of seconds greater than 0");
  EXPECT_NE(refusal(kVariables.seconds("EMPTY", seconds)), "");
  for (const char* bad : {"0", "-1", "1e99", "nan", "inf", "5s"}) {
    EXPECT_NE(
        refusal(Environment(std::map<std::string, std::string>{{"X", bad}}).seconds("X", seconds)),
        "")
        << bad;
  }
  EXPECT_EQ(seconds, 0.5) << "a refused value changes nothing";
}

TEST(Environment, WholeNumbersAndTheirBound) {
  std::int64_t number = 3;
  EXPECT_EQ(refusal(kVariables.whole("TEN", 10, "must be 1 to 10", number)), "");
  EXPECT_EQ(number, 10);
  EXPECT_EQ(refusal(kVariables.whole("TEN", 9, "must be 1 to 9", number)),
            "ERROR: TEN=10: must be 1 to 9");
  EXPECT_NE(refusal(kVariables.whole("HALF", 9, "must be whole", number)), "");
}

TEST(Environment, Choices) {
  std::string choice = "b";
  EXPECT_EQ(refusal(kVariables.choice("absent", {"a", "b"}, choice)), "");
  EXPECT_EQ(refusal(kVariables.choice("WORD", {"a", "b", "c"}, choice)),
            "ERROR: WORD=ten: must be a, b or c");
  choice = "b";
  EXPECT_EQ(refusal(kVariables.choice("WORD", {"a", "b"}, choice)),
            "ERROR: WORD=ten: must be a or b");
}

}  // namespace
}  // namespace athanor::environment_test
