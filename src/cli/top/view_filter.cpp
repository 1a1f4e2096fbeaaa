// SPDX-License-Identifier: Apache-2.0
#include "cli/top/view_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "console/model/filter_words.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
Result<ViewFilter> ViewFilter::parse(std::string_view text) {
  ViewFilter filter;
  for (const console::FilterText& word : console::split_filter(text)) {
    Part part{.negated = word.negated, .key = word.key, .value = lower(word.value)};
    if (!part.key.empty() && part.value.empty()) {
      return wrong_usage(fmt::format("filter \"{}\": the value is missing", word.whole));
    }
    if (part.key == "age") {
      const std::string_view value = part.value;
      part.younger = value.starts_with('<');
      part.age = console::filter_length(value.substr(1));
      if (!part.age || (value.front() != '<' && value.front() != '>')) {
        return wrong_usage(fmt::format("filter \"{}\": write age:<2h or age:>3d", word.whole));
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
    return std::ranges::any_of(row.object.metadata()["labels"].members(), [&](const Member& label) {
      return console::matches_label(label.key(), label.value.as_string(), part.value);
    });
  }
  if (part.key == "ns" || part.key == "namespace") {
    return console::matches_text(row.object.ns(), part.value);
  }
  if (part.key == "phase" && !row.traits.phase.empty()) {
    return console::matches_text(row.traits.phase, part.value);
  }
  for (std::size_t i = 0; i < std::min(listing.titles.size(), row.cells.size()); ++i) {
    if (lower(listing.titles[i]) == part.key) {
      return console::matches_text(row.cells[i], part.value);
    }
  }
  return false;
}

bool ViewFilter::takes(const views::Listing& listing, const views::ListRow& row,
                       Instant now) const {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    if (part.negated || part.key.empty() || part.age) {  // each of them has to hold
      return matches(part, listing, row, now) != part.negated;
    }
    return std::ranges::any_of(parts_, [&](const Part& other) {
      return other.key == part.key && !other.negated && matches(other, listing, row, now);
    });
  });
}

}  // namespace athanor::cli
