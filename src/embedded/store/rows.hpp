// SPDX-License-Identifier: Apache-2.0
// How a stored object looks as a row of the database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// Returns "pods/default/a"; "nodes//n1" for cluster-scoped objects.
std::string row_key(const Stored& object);

// Sums everything in the row, to find damage that still is well-formed JSON.
std::int64_t row_checksum(std::string_view key, Revision revision, std::string_view body);

// Reads the object of a row. Errors: key, revision, checksum and body do not agree.
Result<StoredPtr> read_row(std::string_view key, Revision revision, std::int64_t checksum,
                           std::string_view body);

}  // namespace athanor::store
