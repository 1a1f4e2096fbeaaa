// SPDX-License-Identifier: Apache-2.0
// Tables on a screen that is not wide enough, and colours that nobody sees.
#include "cli/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace athanor::cli {
namespace {

TEST(Tables, LinesAreCutToTheScreen) {
  Table table({"NAME", "MESSAGE"});
  table.add({"a", "grüße an alle"});
  EXPECT_EQ(table.text(), "NAME   MESSAGE\na      grüße an alle\n");
  EXPECT_EQ(table.text(14), "NAME   MESSAGE\na      grüße …\n");
  EXPECT_EQ(table.text(1), "…\n…\n");
}

TEST(Tables, APipeIsNoScreen) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Terminal terminal(ends[1]);
  EXPECT_EQ(terminal.columns(), 0U);
  EXPECT_EQ(terminal.paint("text", Colour::Red), "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace athanor::cli
