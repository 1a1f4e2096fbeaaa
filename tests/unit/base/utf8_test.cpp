// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace athanor::utf8_test {
namespace {

TEST(Utf8, RoundTripsEveryLength) {
  for (const char32_t c : {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'}) {
    std::string text;
    utf8::append(text, c);
    const auto decoded = utf8::decode(text);
    EXPECT_TRUE(decoded.valid);
    EXPECT_EQ(decoded.code_point, c);
    EXPECT_EQ(decoded.size, text.size());
  }
}

TEST(Utf8, TakesOneByteOfAnInvalidSequence) {
  for (const char* text : {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xe2\x82", "\xff"}) {
    const auto decoded = utf8::decode(text);
    EXPECT_FALSE(decoded.valid);
    EXPECT_EQ(decoded.size, 1U);
    EXPECT_EQ(decoded.code_point, utf8::kReplacement);
    EXPECT_FALSE(utf8::is_valid(text));
  }
}

TEST(Utf8, AppendReplacesSurrogates) {
  std::string text;
  utf8::append(text, 0xd800);
  EXPECT_EQ(text, "\xef\xbf\xbd");
}

TEST(Utf8, CountsCharacters) {
  EXPECT_EQ(utf8::length("h\u00e9llo \u20ac"), 7U);
}

}  // namespace
}  // namespace athanor::utf8_test
