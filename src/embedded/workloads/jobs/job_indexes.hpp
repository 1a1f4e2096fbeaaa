// SPDX-License-Identifier: Apache-2.0
// Completion indexes of an Indexed job, and their text form.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace athanor::workloads {

using Indexes = std::set<std::int64_t>;

// "1,3-5,7"; what cannot be read is left out, as is everything from `limit` on.
Indexes parse_indexes(std::string_view text, std::int64_t limit);
// Three or more in a row become a range.
std::string format_indexes(const Indexes& indexes);

}  // namespace athanor::workloads
