// SPDX-License-Identifier: Apache-2.0
// The table of doors: where text from outside enters a parser or a library.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace athanor::doors {

// One parser or library with the files that call it.
struct Door {
  std::string_view name{};
  std::vector<std::string_view> files{};  // below src/
  // Hands a text to each of the door's functions; what they answer is theirs. Null: `tested_by`.
  void (*enter)(std::string_view text) = nullptr;
  std::string_view tested_by{};               // "file::test" that does it elsewhere
  std::size_t huge = std::size_t{16} << 20U;  // bytes of a huge text; fewer where each costs much
};

// Returns all doors. Whoever includes a third-party header adds the file here.
std::span<const Door> all();

}  // namespace athanor::doors
