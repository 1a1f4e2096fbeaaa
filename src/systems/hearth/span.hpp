// SPDX-License-Identifier: Apache-2.0
// Durations and times as FournosClusters write them (docs/spec/hearth.md 2.3, 2.5, 9.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace athanor::hearth {

// Parses "30m", "4h", "2d": one number, one unit. Too long a one saturates at some thousand years.
std::optional<Duration> parse_span(std::string_view text);

// Reads RFC 3339; without a zone it is UTC. Upstream's has microseconds and "+00:00".
std::optional<Instant> read_time(std::string_view text);

// Returns `start` plus `span`, at most 9999-12-31T23:59:59Z.
Instant end_of(Instant start, Duration span);

// Returns one line, cut at 1024 bytes on a character boundary.
std::string one_line(std::string text);

}  // namespace athanor::hearth
