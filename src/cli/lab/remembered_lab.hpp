// SPDX-License-Identifier: Apache-2.0
// The lab file with which a data folder was made (DATA/lab.json): a start without --lab takes it
// again, and a start with another one is refused, since the objects of the first would stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace athanor::cli {

// A lab file and its text; an empty path: the built-in lab.
struct LabFile {
  std::string path{};  // absolute
  std::string name{};  // as the user gave it; what messages show
  std::string text{};  // as of the last start; empty for the built-in lab
};

// What a start with another lab file does.
enum class OtherLab : std::uint8_t {
  Refuse,
  Merge,  // applies its objects beside those that are there, and remembers it
};

// Returns the lab file of the folder; nullopt if the folder was never started. Errors: the record
// is damaged.
Result<std::optional<LabFile>> remembered_lab(const std::string& data);

// Writes the record, mode 0600. Requires that the folder exists.
Result<void> remember_lab(const std::string& data, const LabFile& file);

// Chooses the lab file of a start (an empty `data`: nothing is remembered): `wanted` (the path of
// --lab; empty: none given) or the remembered one, whose copy serves if the file itself is gone.
// Errors: the file cannot be read; another one is remembered and `other` is Refuse.
Result<LabFile> choose_lab(const std::string& data, const std::string& wanted, OtherLab other);

}  // namespace athanor::cli
