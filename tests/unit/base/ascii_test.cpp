// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.hpp"

#include <gtest/gtest.h>

namespace athanor::ascii_test {
namespace {

TEST(Ascii, LowersLettersAlone) {
  EXPECT_EQ(lower("Content-TYPE: A/Z@[`{"), "content-type: a/z@[`{");
  EXPECT_EQ(lower("\xc3\x84"), "\xc3\x84") << "no byte of another character";
  EXPECT_EQ(lower(""), "");
}

TEST(Ascii, TrimsBothEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\t a\t ", " "), "\t a\t");
}

TEST(Ascii, WordsStandBetweenSeparators) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(words_of("a,b c,,d,", ','), (Words{"a", "b c", "d"}));
  EXPECT_EQ(words_of("get list", ' '), (Words{"get", "list"}));
  EXPECT_EQ(words_of("", ','), Words{});
  EXPECT_EQ(words_of(",,", ','), Words{});
}

}  // namespace
}  // namespace athanor::ascii_test
