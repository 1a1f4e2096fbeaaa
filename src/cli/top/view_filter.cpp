// SPDX-License-Identifier: Apache-2.0
#include "cli/top/view_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "cli/output/filter.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

// "key:value" with a word as key; "a/b:c" and times such as 08:00 are free text.
bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

}  // namespace

Result<ViewFilter> ViewFilter::parse(std::string_view text) {
  ViewFilter filter;
  for (std::size_t start = text.find_first_not_of(' '); start != std::string_view::npos;
       start = text.find_first_not_of(' ', start)) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    std::string_view word = text.substr(start, end - start);
    start = end;
    Part part;
    const std::string whole(word);
    if (word.size() > 1 && word.front() == '-') {
      part.negated = true;
      word.remove_prefix(1);
    }
    const std::size_t colon = word.find(':');
    if (colon != std::string_view::npos && is_key(word.substr(0, colon))) {
      part.key = lower(word.substr(0, colon));
      word.remove_prefix(colon + 1);
      if (word.empty()) {
        return wrong_usage(fmt::format("filter \"{}\": the value is missing", whole));
      }
    }
    part.value = lower(word);
    if (part.key == "age") {
      part.younger = word.starts_with('<');
      part.age = parse_length(word.substr(word.starts_with('<') || word.starts_with('>') ? 1 : 0));
      if (!part.age || (word.front() != '<' && word.front() != '>')) {
        return wrong_usage(fmt::format("filter \"{}\": write age:<2h or age:>3d", whole));
      }
    }
    filter.parts_.push_back(std::move(part));
  }
  return filter;
}

bool ViewFilter::matches(const Part& part, const views::Listing& listing, const views::ListRow& row,
                         Instant now) {
  if (part.key.empty()) {
    return std::ranges::any_of(row.cells, [&](const std::string& cell) {
      return lower(cell).find(part.value) != std::string::npos;
    });
  }
  if (part.key == "age") {
    const auto created = row.object.creation_time();
    return created && (part.younger ? now - *created < *part.age : now - *created > *part.age);
  }
  if (part.key == "label") {
    const std::size_t equals = part.value.find('=');
    const std::string wanted = equals == std::string::npos ? "" : part.value.substr(equals + 1);
    for (const Member& label : row.object.metadata()["labels"].members()) {
      if (lower(label.key()) == part.value.substr(0, equals) &&
          (equals == std::string::npos || lower(label.value.as_string()) == wanted)) {
        return true;
      }
    }
    return false;
  }
  if (part.key == "ns" || part.key == "namespace") {
    return lower(row.object.ns()) == part.value;
  }
  if (part.key == "phase" && !row.traits.phase.empty()) {
    return lower(row.traits.phase) == part.value;
  }
  for (std::size_t i = 0; i < std::min(listing.titles.size(), row.cells.size()); ++i) {
    if (lower(listing.titles[i]) == part.key) {
      return lower(row.cells[i]).find(part.value) != std::string::npos;
    }
  }
  return false;
}

bool ViewFilter::takes(const views::Listing& listing, const views::ListRow& row,
                       Instant now) const {
  return std::ranges::all_of(
      parts_, [&](const Part& part) { return matches(part, listing, row, now) != part.negated; });
}

}  // namespace athanor::cli
