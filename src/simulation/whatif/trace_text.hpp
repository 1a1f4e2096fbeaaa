// SPDX-License-Identifier: Apache-2.0
// The texts of traces in CSV: values of a line, numbers, lengths of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace athanor::whatif {

// Returns the text without blanks at its ends.
std::string_view trimmed(std::string_view text);
// Returns the values of a line, without blanks at their ends.
std::vector<std::string> split(std::string_view line);
// nullopt: no whole number.
std::optional<std::int64_t> whole_number(std::string_view text);
// "3600", "90m", "1h30m", "2d", "1d12h"; at most 365 days.
std::optional<Duration> span_of(std::string_view text);

}  // namespace athanor::whatif
