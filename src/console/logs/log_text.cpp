// SPDX-License-Identifier: Apache-2.0
#include "console/logs/log_text.hpp"

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "base/time.hpp"
#include "kube/text/regex.hpp"

namespace athanor::console {
namespace {

// The digits behind the dot, as nanoseconds.
std::int64_t fraction_of(std::string_view at) {
  const std::size_t dot = at.find('.');
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 100'000'000;
  for (std::size_t i = dot == std::string_view::npos ? at.size() : dot + 1;
       i < at.size() && at[i] >= '0' && at[i] <= '9'; ++i) {
    nanoseconds += (at[i] - '0') * unit;
    unit /= 10;
  }
  return nanoseconds;
}

}  // namespace

LogLine parse_log_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  const std::string_view at = line.substr(0, blank);
  if (at.size() < 20 || at[4] != '-' || !parse_time(at)) {
    return {.text = std::string(line)};
  }
  return {.at = std::string(at),
          .text = blank == std::string_view::npos ? "" : std::string(line.substr(blank + 1))};
}

std::vector<LogLine> parse_log(std::string_view text) {
  std::vector<LogLine> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(parse_log_line(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string nanoseconds_text(std::string_view at) {
  const auto time = parse_time(at);
  if (!time) {
    return {};
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
  return std::to_string(seconds * 1'000'000'000 + fraction_of(at));
}

std::vector<LogLine> merge_logs(std::vector<std::vector<LogLine>> logs) {
  struct Placed {
    std::int64_t at = 0;
    LogLine line{};
  };
  std::vector<Placed> all;
  for (std::vector<LogLine>& log : logs) {
    std::int64_t last = 0;  // a line without a time belongs to the one before
    for (LogLine& line : log) {
      const std::string number = nanoseconds_text(line.at);
      std::int64_t at = last;
      std::from_chars(number.data(), number.data() + number.size(), at);
      last = std::max(last, at);
      all.push_back({.at = last, .line = std::move(line)});
    }
  }
  std::ranges::stable_sort(all, {}, &Placed::at);
  std::vector<LogLine> lines;
  lines.reserve(all.size());
  for (Placed& one : all) {
    lines.push_back(std::move(one.line));
  }
  return lines;
}

Value line_value(const LogLine& line, std::size_t number) {
  Value value = Value::object({{"n", number}, {"text", line.text}});
  if (!line.at.empty()) {
    value.set("at", line.at);
  }
  if (!line.source.empty()) {
    value.set("source", line.source);
  }
  return value;
}

Result<LogMatches> search_log(const std::vector<LogLine>& lines, const LogSearch& search,
                              std::size_t limit) {
  std::shared_ptr<const Regex> regex;
  const std::string needle = search.match_case ? search.text : lower(search.text);
  if (search.regex) {
    ATHANOR_TRY(regex, Regex::compile(search.match_case ? search.text : "(?i)" + search.text));
  }
  LogMatches matches;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = lines[i].text;
    const bool found =
        regex ? regex->search(text)
              : (search.match_case ? text : lower(text)).find(needle) != std::string::npos;
    if (found) {
      ++matches.total;
      if (matches.numbers.size() < limit) {
        matches.numbers.push_back(i + 1);
      }
    }
  }
  return matches;
}

}  // namespace athanor::console
