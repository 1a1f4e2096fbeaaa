// SPDX-License-Identifier: Apache-2.0
#include "base/near_name.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace athanor {
namespace {

constexpr std::size_t kMostEdits = 3;
constexpr std::size_t kLettersPerEdit = 3;
constexpr std::size_t kLeastBeginning = 3;  // letters

// Counts insertions, deletions, replacements and swaps of neighbours.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0U : 1U;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(above, row);
  }
  return above[b.size()];
}

// Returns how many edits still mean the same word: one in three letters, without leading hyphens.
std::size_t most_edits(std::string_view word) {
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  return std::min(kMostEdits, std::max<std::size_t>(1, letters / kLettersPerEdit));
}

}  // namespace

std::string near_name(std::string_view word, std::span<const std::string> known) {
  std::size_t best = most_edits(word) + 1;
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
