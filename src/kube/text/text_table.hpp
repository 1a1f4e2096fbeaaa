// SPDX-License-Identifier: Apache-2.0
// Splitting of the embedded tables' lines. Views into the caller's text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace athanor::text_table {

// Takes the text up to `separator`, together with it, off `rest` and returns it without; all of
// `rest` when absent.
inline std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return head;
}

// Returns the non-empty parts.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = take(text, separator);
    if (!part.empty()) {
      parts.emplace_back(part);
    }
  }
  return parts;
}

}  // namespace athanor::text_table
