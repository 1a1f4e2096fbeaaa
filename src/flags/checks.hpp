// SPDX-License-Identifier: Apache-2.0
// Checks of a flag's value: what may be given, as text for help and as words for completion.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace athanor::flags {

// One check of values.
struct Check {
  std::string shown{};               // in place of the value's type in help: "{disk,memory}"
  std::vector<std::string> words{};  // all values that pass, for completion; empty: too many
  bool files = false;                // values are files
  // Returns what is wrong with a value, for a message "--flag: ..."; empty: it passes. May rewrite
  // the value.
  std::function<std::string(std::string& value)> wrong{};
};

// Requires a whole number from `least` to `most`.
Check in_range(std::int64_t least, std::int64_t most);
// Requires a number from `least` to `most`.
Check between(double least, double most);
// Requires one of these words.
Check one_of(std::initializer_list<const char*> words);
// Requires a number above 0.
Check positive();
// Requires a file that exists.
Check existing_file();
// Takes bytes with KiB, MiB, GiB or TiB behind a number, and hands them on as a plain number.
Check as_bytes();

}  // namespace athanor::flags
