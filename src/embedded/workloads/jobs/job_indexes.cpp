// SPDX-License-Identifier: Apache-2.0
// Index lists.
#include "embedded/workloads/jobs/job_indexes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace athanor::workloads {
namespace {

std::optional<std::int64_t> index_of_text(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0
             ? std::optional(number)
             : std::nullopt;
}

}  // namespace

Indexes parse_indexes(std::string_view text, std::int64_t limit) {
  Indexes indexes;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dash = part.find('-');
    const auto first = index_of_text(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : index_of_text(part.substr(dash + 1));
    if (!first || !last) {
      continue;
    }
    for (std::int64_t index = *first; index <= std::min(*last, limit - 1); ++index) {
      indexes.insert(index);
    }
  }
  return indexes;
}

std::string format_indexes(const Indexes& indexes) {
  std::string text;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    for (++at; at != indexes.end() && *at == last + 1; ++at) {
      last = *at;
    }
    text += text.empty() ? "" : ",";
    if (last == first) {
      text += fmt::format("{}", first);
    } else {
      text += fmt::format("{}{}{}", first, last == first + 1 ? "," : "-", last);
    }
  }
  return text;
}

}  // namespace athanor::workloads
