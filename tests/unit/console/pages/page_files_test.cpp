// SPDX-License-Identifier: Apache-2.0
// The pages' files, and what the server puts into them.
#include "console/pages/page_files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::console::page_files_test {
namespace {

TEST(PageFiles, ArePartOfTheProgram) {
  const auto index = embedded_pages()("index.html");
  ASSERT_TRUE(index.has_value());
  EXPECT_NE(index->body.find("<head>"), std::string_view::npos);
  EXPECT_EQ(index->packed.substr(0, 2), "\x1f\x8b") << "gzip";
  EXPECT_FALSE(embedded_pages()("nothing.html").has_value());
}

TEST(PageFiles, StayInTheirFolder) {
  const PageFiles files = folder_pages(testing::TempDir());
  EXPECT_FALSE(files("../etc/passwd").has_value());
  EXPECT_FALSE(files("/etc/passwd").has_value());
}

TEST(PageHead, EscapesHostileText) {
  const std::string page = page_with_head(
      "<html><head><title>x</title>",
      {.base = "/c/", .message = "\"><script>alert(1)</script>", .form = "{\"a\":\"<\"}"});
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<html><head><base href=\"/c/\">"), 0U);
}

}  // namespace
}  // namespace athanor::console::page_files_test
