// SPDX-License-Identifier: Apache-2.0
// The machine's database of time zones: the only source of zones by name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time_zone.hpp"

namespace athanor {

// Returns the TZif bytes of a zone ("Europe/Berlin", "NZ") from /usr/share/zoneinfo. Error: 404
// where the database has no zone of this name.
Result<std::string> read_time_zone_file(std::string_view name);
// Returns the zone of this name; errors as above.
Result<TimeZone> find_time_zone(std::string_view name);

}  // namespace athanor
