// SPDX-License-Identifier: Apache-2.0
// The files that the exporter reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::exporter {

// Returns the text of a file; nullopt: no such file. Error: it cannot be read.
Result<std::optional<std::string>> read_whole(const std::string& path);

// Which entries of a folder are named.
enum class Entries : std::uint8_t { All, RegularFiles };
// Names of a folder's entries; none where it cannot be read.
std::vector<std::string> names_in(const std::string& path, Entries which);

}  // namespace athanor::exporter
