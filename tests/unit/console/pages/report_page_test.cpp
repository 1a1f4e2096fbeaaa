// SPDX-License-Identifier: Apache-2.0
// The report's page: complete, and names in it stay data.
#include "console/pages/report_page.hpp"

#include <gtest/gtest.h>

namespace athanor::console::report_page_test {
namespace {

Value report(const std::string& owner) {
  return Value::object(
      {{"trace", "<t&>.csv"}, {"fleets", Value::list({Value::object({{"fleet", owner}})})}});
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

TEST(ReportPage, KeepsNamesAsData) {
  const auto plain = report_page(embedded_pages(), report("a"));
  const auto hostile =
      report_page(embedded_pages(), report("</script><script>alert(1)</script><!--"));
  ASSERT_TRUE(plain.ok() && hostile.ok());
  for (const char* part : {"<script", "</script", "<!--"}) {
    EXPECT_EQ(count(*plain, part), count(*hostile, part)) << part;
  }
  EXPECT_NE(hostile->find("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"), std::string::npos);
  EXPECT_NE(hostile->find("<title>athanor simulate: &lt;t&amp;&gt;.csv</title>"),
            std::string::npos);
}

TEST(ReportPage, NeedsItsCharts) {
  const PageFiles none = [](std::string_view) { return std::optional<PageFile>(); };
  EXPECT_FALSE(report_page(none, report("a")).ok());
}

}  // namespace
}  // namespace athanor::console::report_page_test
