// SPDX-License-Identifier: Apache-2.0
// Whether a database is whole: damage that SQLite does not notice, as it reads on in what is left.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "embedded/store/sqlite.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// Requires that the tables are ours: a damaged name would be an empty table made anew.
Result<void> check_tables(Database& database, const std::string& path);
// Requires that the index of the objects has as many entries as the table had `rows`.
Result<void> check_count(Database& database, const std::string& path, std::size_t rows);

// Requires a database (and its write-ahead log) without any damage that is as new as
// `acknowledged`. Changes nothing; reads everything.
Result<void> check_whole(const std::string& path, std::optional<Revision> acknowledged);

}  // namespace athanor::store
