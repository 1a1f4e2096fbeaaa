// SPDX-License-Identifier: Apache-2.0
// Schedules: CronJobs of the jobs' namespace that submit jobs (docs/spec/dashboard.md A7, B4.10).
// Reads the files of time zones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "console/model/row_table.hpp"
#include "console/model/settings.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Labels and annotations of schedules (docs/spec/dashboard.md A7).
inline constexpr std::string_view kManagedBy = "fournos-launcher/managed-by";
inline constexpr std::string_view kManager = "fournos-dashboard";
inline constexpr std::string_view kLauncher = "fournos-launcher/";
inline constexpr std::string_view kScheduleName = "fournos-launcher/schedule-name";

// Columns of GET /schedules.
const ListShape& schedule_shape();
// Returns the managed CronJobs; `jobs` are rows of jobs.
std::vector<Value> schedule_rows(const Facts& facts, const Settings& settings,
                                 std::span<const Value> jobs, Instant now);
// Returns true if the console may change the CronJob.
bool is_managed(const Object& cron_job);
// Returns {valid, words, next} of a schedule, or {valid: false, error}.
Value schedule_preview(std::string_view schedule, std::string_view time_zone, Instant now);
// Returns a schedule in words: "every day at 03:00"; other ones as they are written.
std::string schedule_words(std::string_view schedule);

}  // namespace athanor::console
