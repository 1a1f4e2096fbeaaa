// SPDX-License-Identifier: Apache-2.0
// Logs of containers as lines with their times (docs/spec/dashboard.md B7). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// One line; `at` is RFC 3339 with nanoseconds as the API server writes it, or empty.
struct LogLine {
  std::string at{};
  std::string text{};
  std::string source{};  // "task/step" in a merged log
};

// Splits a line that the API server wrote with timestamps=true.
LogLine parse_log_line(std::string_view line);
std::vector<LogLine> parse_log(std::string_view text);
// Returns nanoseconds since 1970 as text: the id of a line's event; empty: it has no time.
std::string nanoseconds_text(std::string_view at);

// Merges logs by time; lines of one source keep their order.
std::vector<LogLine> merge_logs(std::vector<std::vector<LogLine>> logs);

// Returns {n, at, text, source} of a line; `number` counts from 1.
Value line_value(const LogLine& line, std::size_t number);

// Pattern of a search.
struct LogSearch {
  std::string text{};
  bool regex = false;
  bool match_case = false;
};
// Returns the numbers of the lines that match, all of them; `limit` cuts the list alone. Error: no
// regular expression.
struct LogMatches {
  std::vector<std::size_t> numbers{};
  std::size_t total = 0;
};
Result<LogMatches> search_log(const std::vector<LogLine>& lines, const LogSearch& search,
                              std::size_t limit);

}  // namespace athanor::console
