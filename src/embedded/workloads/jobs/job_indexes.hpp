// SPDX-License-Identifier: Apache-2.0
// Completion indexes of an Indexed job, and their text form.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace athanor::workloads {

using Indexes = std::set<std::int64_t>;

// Parses "1,3-5,7"; leaves out unreadable parts and everything from `limit` on.
Indexes parse_indexes(std::string_view text, std::int64_t limit);
// Prints the indexes; three or more in a row become a range.
std::string format_indexes(const Indexes& indexes);

}  // namespace athanor::workloads
