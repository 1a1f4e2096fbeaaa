// SPDX-License-Identifier: Apache-2.0
// Salvage: a new database from what is readable of a damaged one. Every row is taken by its own
// checksum, whatever became of the tables around it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::store {

// What was recovered and what was not.
struct Salvaged {
  std::size_t rows = 0;
  std::vector<std::string> lost{};      // keys that are known and whose rows are not readable
  std::vector<std::string> doubtful{};  // keys whose newest row may be lost: an older one is kept
  std::size_t unreadable_pages = 0;     // of unknown content
  std::string kept{};                   // where the damaged files are now
};

// Puts a salvaged database in the place of `database` and its log, which are kept beside it under
// another name. At every instant a crash leaves either the damaged files as they were, or what
// another call completes. Nothing of the history is kept.
Result<Salvaged> salvage(const std::string& database);

// Writes what was lost to the log, by name.
void tell(const Salvaged& salvaged, const std::string& database);

}  // namespace athanor::store
