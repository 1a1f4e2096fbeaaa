// SPDX-License-Identifier: Apache-2.0
// Whether a CronJob's schedule and time zone can be understood (docs/spec/apiserver.md 14.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace athanor::apiserver {

// nullopt for five fields or "@hourly" and the like, else what is wrong.
std::optional<std::string> cron_error(std::string_view schedule);
// True for names of the form that the tz database has: "UTC", "Europe/Berlin".
bool is_time_zone(std::string_view name);

}  // namespace athanor::apiserver
