// SPDX-License-Identifier: Apache-2.0
// Named time zones, as the machine's tz database has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace athanor::cel {

// Seconds east of UTC in "Europe/Berlin" at a time (seconds since 1970); nullopt: no such zone.
std::optional<std::int64_t> named_zone_offset(std::string_view name, std::int64_t at);

}  // namespace athanor::cel
