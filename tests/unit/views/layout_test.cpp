// SPDX-License-Identifier: Apache-2.0
// Letters of all languages in the columns of a terminal.
#include "views/layout.hpp"

#include <gtest/gtest.h>

#include "views/table.hpp"

namespace athanor::views::layout_test {
namespace {

TEST(Layout, CountsPlacesOfLetters) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Ännä"), 4U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("한국어"), 6U);
  EXPECT_EQ(display_width("e\u0301"), 1U) << "an accent of its own";
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U) << "no UTF-8";
}

TEST(Layout, CutsBetweenLetters) {
  EXPECT_EQ(cut_text("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(cut_text("漢字漢字", 7), "漢字漢…");
  EXPECT_EQ(cut_text("漢字漢字", 6), "漢字…");
  EXPECT_EQ(cut_text("漢字", 1), "…");
  EXPECT_EQ(cut_text("漢字", 0), "");
  EXPECT_EQ(cut_text("e\u0301e\u0301e\u0301", 2), "e\u0301…");
}

TEST(Layout, AlignsWideLetters) {
  Table table({"OWNER", "PHASE"});
  table.add({"漢字", "Running"});
  table.add({"ann", "Failed"});
  EXPECT_EQ(table.text(), "OWNER   PHASE\n漢字    Running\nann     Failed\n");
}

}  // namespace
}  // namespace athanor::views::layout_test
