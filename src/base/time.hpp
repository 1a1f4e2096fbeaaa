// SPDX-License-Identifier: Apache-2.0
// Instants, durations and their two text forms: RFC 3339 (API times) and Go durations ("1h30m0s").
// Nothing here reads a clock: see clock.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor {

using Duration = std::chrono::microseconds;
using Instant = std::chrono::sys_time<Duration>;

// Formats as "2026-11-20T10:20:35Z": UTC, whole seconds (metav1.Time).
std::string format_time(Instant instant);
// Formats as "2026-11-20T10:20:35.123456Z": UTC, microseconds (metav1.MicroTime).
std::string format_micro_time(Instant instant);
// Accepts RFC 3339 with any offset and fraction; nullopt for anything else.
std::optional<Instant> parse_time(std::string_view text);

// Formats as Go's time.Duration prints: "1h30m0s", "300ms", "0s".
std::string format_go_duration(Duration duration);
// Parses as Go's time.ParseDuration; errors have Go's message: `time: invalid duration "zz"`.
Result<Duration> parse_go_duration(std::string_view text);
// Formats an age as kubectl tables do: "17s", "5m3s", "3h", "2d4h" (docs/spec/apiserver.md 5.4).
std::string format_age(Duration age);

}  // namespace athanor
