// SPDX-License-Identifier: Apache-2.0
#include "kube/text/path_text.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace athanor::path_text_test {
namespace {

TEST(PathText, ComparesAndMeasuresWithAndWithoutText) {
  for (const std::string& start : {std::string(), std::string("metadata"), std::string("[a.b]")}) {
    PathText path(start);
    const PathText::Step spec(path, "spec");
    const PathText::Step item(path, 12);
    const PathText::Step key = PathText::Step::key(path, "k.v");
    const PathText::Step field(path, "name");
    EXPECT_EQ(path.text().size(), path.size()) << path.text();
    const std::string child = path.child("first");
    EXPECT_TRUE(path.child_is("first", child)) << child;
    for (std::size_t cut = 1; cut <= child.size(); ++cut) {
      EXPECT_FALSE(path.child_is("first", child.substr(cut))) << child.substr(cut);
      EXPECT_FALSE(path.child_is("first", child.substr(0, child.size() - cut)));
    }
    EXPECT_FALSE(path.child_is("first", "x" + child));
    EXPECT_FALSE(path.child_is("irst", child));
  }
}

TEST(PathText, AChildOfTheRootIsItsName) {
  PathText path;
  EXPECT_TRUE(path.child_is("a", "a"));
  EXPECT_FALSE(path.child_is("a", "b.a"));
  const PathText::Step key = PathText::Step::key(path, "k");
  EXPECT_EQ(path.child("a"), "[k].a");
  EXPECT_TRUE(path.child_is("a", "[k].a"));
  EXPECT_EQ(path.size(), 3U);
}

}  // namespace
}  // namespace athanor::path_text_test
