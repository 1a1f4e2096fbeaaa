// SPDX-License-Identifier: Apache-2.0
#include "base/near_name.hpp"

#include <algorithm>
#include <vector>

namespace athanor {
namespace {

constexpr std::size_t kMostEdits = 3;
constexpr std::size_t kLeastBeginning = 3;  // letters

// Levenshtein's: insertions, deletions and replacements.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string near_name(std::string_view word, std::span<const std::string> known) {
  std::size_t best = std::min(kMostEdits, std::max<std::size_t>(1, word.size() / 2)) + 1;
  std::string name;
  for (const std::string& candidate : known) {
    const std::size_t edits = edits_between(word, candidate);
    if (edits < best) {
      best = edits;
      name = candidate;
    }
  }
  if (name.empty() && word.size() >= kLeastBeginning) {
    const auto longer = std::ranges::find_if(
        known, [&](const std::string& candidate) { return candidate.starts_with(word); });
    name = longer == known.end() ? "" : *longer;
  }
  return name;
}

std::string near_hint(std::string_view word, std::span<const std::string> known) {
  const std::string name = near_name(word, known);
  return name.empty() ? std::string() : ", did you mean " + name + "?";
}

}  // namespace athanor
