// SPDX-License-Identifier: Apache-2.0
// Schedules (docs/spec/dashboard.md A7) as data: state, next starts, last start. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "base/time_zone.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/listing.hpp"

namespace athanor::views {

// Finds a zone by its name. Errors: there is none of that name.
using FindZone = std::function<Result<TimeZone>(std::string_view name)>;

// A start that is due.
struct NextStart {
  Instant at{};
  std::int64_t offset_seconds = 0;  // of the schedule's zone, east of UTC
  // Returns JSON: {utc, local, in}, the last in seconds.
  [[nodiscard]] Value to_value(Instant now) const;
  // Returns "2026-01-31 08:00:00 +01:00".
  [[nodiscard]] std::string local_text() const;
};

// Returns at most `count` starts after `now`. Errors: the line is no schedule, the zone is unknown.
Result<std::vector<NextStart>> next_starts(std::string_view cron, std::string_view zone,
                                           Instant now, std::size_t count, const FindZone& find);

// One CronJob, or FournosJob with spec.schedule, as a person sees it.
struct ScheduleState {
  std::string name{};
  std::string ns{};
  std::string cron{};
  std::string zone{};  // empty: UTC
  bool paused = false;
  bool ended = false;  // stopped or failed: it never starts again
  std::string project{};
  std::string pipeline{};
  std::string cluster{};
  std::string owner{};
  std::optional<Instant> last_start{};
  std::size_t running = 0;        // of its Jobs
  std::vector<NextStart> next{};  // at most five; none of one that is paused or has ended
  std::string problem{};          // why there are none
  // Returns Active, Paused or Ended.
  [[nodiscard]] std::string_view phase() const;
  [[nodiscard]] Value to_value(Instant now) const;
};
// Returns true for a CronJob that is a schedule of jobs, and for a FournosJob with spec.schedule.
bool is_schedule(const Object& object);
// Returns true for a FournosJob with spec.schedule (docs/spec/fournos.md 19).
bool is_recurring(const Object& object);
// Returns true if due starts are skipped: until a given time, or until it is resumed.
bool is_paused(const Object& schedule, Instant now);
ScheduleState schedule_state(const Object& schedule, Instant now, const FindZone& find);

// A start that was due and led to no job.
struct AbsentStart {
  enum class Kind : std::uint8_t { Skipped, Missed };  // on purpose; or not
  Instant at{};
  Kind kind = Kind::Missed;
  std::string reason{};   // "Paused", the reason of an event, "JobFailed" or "NoJob"
  std::string message{};  // a sentence without a period
  // Returns JSON: {at, kind, reason, message}.
  [[nodiscard]] Value to_value() const;
};
// What is known of the runs of a schedule.
struct ScheduleRuns {
  std::vector<Instant> created{};  // when the FournosJobs were created that its starts made
  std::vector<Object> jobs{};      // of batch/v1 that the CronJob owns
  std::vector<Object> events{};    // about the CronJob
};
// Starts without a job, the newest first, at most `most`.
struct AbsentStarts {
  Instant since{};  // earlier starts are not judged: the schedule was another, or a week has passed
  std::vector<AbsentStart> starts{};
  std::size_t total = 0;
};
// Returns the starts of the last week without a job, since the schedule was changed last. Errors:
// as of next_starts().
Result<AbsentStarts> absent_starts(const Object& schedule, const ScheduleRuns& runs, Instant now,
                                   const FindZone& find);

// Returns the states that --phase takes: Active, Paused and Ended.
const std::vector<std::string>& schedule_phases();
// Schedules as rows, by name; objects that are none are left out.
Listing schedule_listing(const std::vector<Object>& schedules, bool with_namespace, Instant now,
                         const FindZone& find);

}  // namespace athanor::views
