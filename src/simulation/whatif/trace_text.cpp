// SPDX-License-Identifier: Apache-2.0
#include "simulation/whatif/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/ascii.hpp"

namespace athanor::whatif {
namespace {

constexpr std::size_t kMostProblems = 20;
constexpr Duration kLongest = std::chrono::hours(24 * 365);

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

// Returns true if the header names columns that are known, each once, and all that are needed.
bool check_header(const std::vector<std::string>& header, const Columns& columns, std::size_t line,
                  Problems& problems) {
  const std::size_t before = problems.count();
  for (const std::string& column : header) {
    if (std::ranges::find(columns.known, column) == columns.known.end()) {
      problems.add(line, fmt::format("column \"{}\" is unknown; the first line names the columns, "
                                     "of {}",
                                     column, fmt::join(columns.known, ", ")));
    }
    if (std::ranges::count(header, column) > 1) {
      problems.add(line, fmt::format("column \"{}\" is there twice; remove one", column));
    }
  }
  for (const std::string_view needed : columns.needed) {
    if (std::ranges::find(header, needed) == header.end()) {
      problems.add(
          line, fmt::format("column \"{}\" is missing; the first line names the columns", needed));
    }
  }
  return problems.count() == before;
}

}  // namespace

void Problems::add(std::size_t line, std::string_view what) {
  if (++count_ <= kMostProblems) {
    text_ += fmt::format("{}{}:{}: {}", text_.empty() ? "" : "\n", name_, line, what);
  }
}

Result<void> Problems::check() const {
  if (count_ == 0) {
    return {};
  }
  return Error::bad_request(count_ > kMostProblems ? fmt::format("{}\n{}: and {} more", text_,
                                                                 name_, count_ - kMostProblems)
                                                   : text_);
}

std::string field_of(const Fields& fields, std::string_view name) {
  const auto at = fields.find(name);
  return at == fields.end() ? std::string() : at->second;
}

void read_csv(std::string_view text, const Columns& columns, Problems& problems,
              const std::function<void(const Fields& fields, std::size_t line)>& entry) {
  std::vector<std::string> header;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::vector<std::string> cells = split(line);
    if (header.empty()) {
      if (!check_header(cells, columns, number, problems)) {
        return;
      }
      header = std::move(cells);
    } else if (line.find('"') != std::string_view::npos) {
      problems.add(number,
                   "quotes are not understood here; write values without quotes and commas");
    } else if (cells.size() != header.size()) {
      problems.add(number, fmt::format("{} values, but {} columns; write a comma for each empty "
                                       "value",
                                       cells.size(), header.size()));
    } else {
      Fields fields;
      for (std::size_t i = 0; i < header.size(); ++i) {
        fields[header[i]] = std::move(cells[i]);
      }
      entry(fields, number);
    }
  }
}

std::optional<Duration> span_of(std::string_view text) {
  if (const auto seconds = whole_number(text)) {
    return *seconds < 0 ||
                   *seconds > std::chrono::duration_cast<std::chrono::seconds>(kLongest).count()
               ? std::nullopt
               : std::optional<Duration>(std::chrono::seconds(*seconds));
  }
  Duration days{};
  if (const auto at = text.find('d'); at != std::string_view::npos) {
    const auto count = whole_number(text.substr(0, at));
    if (!count || *count < 0 || *count > 365) {
      return std::nullopt;
    }
    days = std::chrono::hours(24 * *count);
    text.remove_prefix(at + 1);
    if (text.empty()) {
      return days;
    }
  }
  const auto rest = parse_go_duration(text);
  if (!rest.ok() || *rest < Duration::zero() || *rest > kLongest) {
    return std::nullopt;
  }
  return days + *rest;
}

}  // namespace athanor::whatif
