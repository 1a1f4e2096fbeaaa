// SPDX-License-Identifier: Apache-2.0
// Words of a filter (docs/spec/dashboard.md B3 G3), as pages, the JSON API and `athanor top` read
// them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace athanor::console {

// One word of a filter: free text, or "key:value".
struct FilterText {
  std::string whole{};  // as written, without quotes
  bool negated = false;
  std::string key{};    // in lower case; empty: free text
  std::string value{};  // as written
};

// Splits at blanks outside of double quotes, and reads each word.
std::vector<FilterText> split_filter(std::string_view text);
// Compares without regard to case; "*" in `wanted` stands for any text.
bool matches_text(std::string_view value, std::string_view wanted);
// Returns true if a label has the name, respectively name and value ("team", "team=x").
bool matches_label(std::string_view name, std::string_view value, std::string_view wanted);
// Reads "2h", "1d", "90s", "1h30m", "2w"; nullopt: anything else.
std::optional<Duration> filter_length(std::string_view text);

}  // namespace athanor::console
