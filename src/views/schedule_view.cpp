// SPDX-License-Identifier: Apache-2.0
#include "views/schedule_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kube/text/cron.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/recurring_messages.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

constexpr std::size_t kShownStarts = 5;

constexpr Duration kJudgedTime = std::chrono::days(7);
constexpr Duration kStartPatience = std::chrono::seconds(90);  // until a start's job is there
constexpr std::size_t kMostJudged = 11'000;                    // starts: a week of one each minute
constexpr std::size_t kMostAbsent = 50;
constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";

struct CronTimes {
  CronSchedule schedule{};
  TimeZone zone{};
};

Result<CronTimes> cron_times(std::string_view cron, std::string_view zone, const FindZone& find) {
  auto schedule = CronSchedule::parse(cron);
  if (!schedule.ok()) {
    return Error::bad_request(fmt::format("\"{}\": {}", cron, schedule.error().message));
  }
  CronTimes times{.schedule = *std::move(schedule)};
  if (!zone.empty()) {
    auto found = find(zone);
    if (!found.ok()) {
      return Error::bad_request(fmt::format("unknown time zone \"{}\"", zone));
    }
    times.zone = *std::move(found);
  }
  return times;
}

// A schedule that stopped, or failed: it has no due time any more.
bool has_ended(const Object& schedule) {
  const std::string_view phase = schedule.status()["phase"].as_string();
  return is_recurring(schedule) && !phase.empty() && phase != "Recurring";
}

// A FournosJob has no time zone: its times are those of UTC, in five fields.
ScheduleState recurring_state(const Object& job, Instant now) {
  const Value& spec = job.spec();
  const Value& status = job.status();
  ScheduleState state{.name = std::string(job.name()),
                      .ns = std::string(job.ns()),
                      .cron = spec["schedule"].str(),
                      .paused = is_paused(job, now),
                      .ended = has_ended(job),
                      .project = spec["forge"]["project"].str(),
                      .pipeline = spec["pipeline"].str(),
                      .cluster = spec["cluster"].str(),
                      .owner = spec["owner"].str(),
                      .last_start = parse_time(status["lastScheduledTime"].as_string())};
  const std::string_view message = status["message"].as_string();
  if (state.ended || message.starts_with(fournos::text::kCreateChildStart)) {
    state.problem = message;
  }
  return state;
}

ScheduleState cron_state(const Object& cron, Instant now) {
  const Value& spec = cron.spec();
  const auto noted = [&](std::string_view key) {
    return std::string(cron.annotation(fmt::format("fournos-launcher/{}", key)));
  };
  return {.name = std::string(cron.name()),
          .ns = std::string(cron.ns()),
          .cron = spec["schedule"].str(),
          .zone = spec["timeZone"].str(),
          .paused = is_paused(cron, now),
          .project = noted("project"),
          .pipeline = noted("pipeline"),
          .cluster = noted("cluster"),
          .owner = noted("owner"),
          .last_start = parse_time(cron.status()["lastScheduleTime"].as_string()),
          .running = cron.status()["active"].size()};
}

// When anything but the status was changed last.
Instant last_change(const Object& cron) {
  Instant last = cron.creation_time().value_or(Instant());
  for (const Value& manager : cron.metadata()["managedFields"].items()) {
    const auto at = parse_time(manager["time"].as_string());
    if (manager["subresource"].as_string().empty() && at) {
      last = std::max(last, *at);
    }
  }
  return last;
}

Instant scheduled_time(const Object& job) {
  return parse_time(job.annotation(kScheduledAt)).value_or(Instant());
}

// The condition with which a Job of batch/v1 ended; Null: it goes on.
Value end_of_batch_job(const Object& job) {
  for (const Value& condition : job.status()["conditions"].items()) {
    const std::string_view type = condition["type"].as_string();
    if ((type == "Complete" || type == "Failed") && condition["status"].as_string() == "True") {
      return condition;
    }
  }
  return {};
}

// Takes the newest time that is not before `at`, out of times in ascending order.
bool take_run(std::vector<Instant>& runs, Instant at) {
  if (runs.empty() || runs.back() < at) {
    return false;
  }
  runs.pop_back();
  return true;
}

struct StartSpan {
  Instant at{};
  Instant end{};  // the next start, or now
};

// The Job of batch/v1 that a start made; nullptr: there is none.
const Object* job_of_start(const std::vector<Object>& jobs, Instant at) {
  const auto found =
      std::ranges::find_if(jobs, [&](const Object& job) { return scheduled_time(job) == at; });
  return found == jobs.end() ? nullptr : &*found;
}

std::optional<AbsentStart> judge_by_events(const StartSpan& start,
                                           const std::vector<Object>& events) {
  constexpr std::string_view kTelling[] = {"JobAlreadyActive", "MissSchedule", "TooManyMissedTimes",
                                           "FailedCreate", "UnknownTimeZone"};
  for (const Object& event : events) {
    const Value& body = event.body();
    const std::string_view reason = body["reason"].as_string();
    const auto text_time = [&](const char* legacy, const char* fallback) {
      const auto time = parse_time(body[std::string_view(legacy)].as_string());
      return time ? time : parse_time(body[std::string_view(fallback)].as_string());
    };
    const auto last = text_time("lastTimestamp", "eventTime");
    const auto first = text_time("firstTimestamp", "eventTime");
    if (std::ranges::find(kTelling, reason) == std::end(kTelling) || !last || *last < start.at ||
        first.value_or(*last) >= start.end) {
      continue;
    }
    return AbsentStart{.at = start.at,
                       .kind = reason == "JobAlreadyActive" ? AbsentStart::Kind::Skipped
                                                            : AbsentStart::Kind::Missed,
                       .reason = std::string(reason),
                       .message = body["message"].str()};
  }
  return std::nullopt;
}

// "2026-01-31 02:30 (in 5h)": of the zone in the column beside it; seconds where they matter.
std::string start_in_list(const NextStart& start, Instant now) {
  std::string local = start.local_text();
  local.resize(local.rfind(' '));
  if (local.ends_with(":00")) {
    local.resize(local.size() - 3);
  }
  return fmt::format("{} (in {})", local, format_age(start.at - now));
}

}  // namespace

std::string NextStart::local_text() const {
  std::string text = format_time(at + std::chrono::seconds(offset_seconds));
  text.pop_back();
  text.replace(text.find('T'), 1, " ");
  const std::int64_t minutes = std::abs(offset_seconds) / 60;
  return fmt::format("{} {}{:02}:{:02}", text, offset_seconds < 0 ? '-' : '+', minutes / 60,
                     minutes % 60);
}

Value NextStart::to_value(Instant now) const {
  return Value::object(
      {{"utc", format_time(at)},
       {"local", local_text()},
       {"in", std::chrono::duration_cast<std::chrono::seconds>(at - now).count()}});
}

Result<std::vector<NextStart>> next_starts(std::string_view cron, std::string_view zone,
                                           Instant now, std::size_t count, const FindZone& find) {
  ATHANOR_TRY(const CronTimes times, cron_times(cron, zone, find));
  std::vector<NextStart> starts;
  for (auto at = times.schedule.next(now, times.zone); at && starts.size() < count;
       at = times.schedule.next(*at, times.zone)) {
    starts.push_back({.at = *at, .offset_seconds = times.zone.offset(*at)});
  }
  return starts;
}

std::string_view ScheduleState::phase() const {
  return ended ? "Ended" : paused ? "Paused" : "Active";
}

Value ScheduleState::to_value(Instant now) const {
  Value starts = Value::list();
  for (const NextStart& start : next) {
    starts.push_back(start.to_value(now));
  }
  Value value = Value::object({{"name", name},
                               {"namespace", ns},
                               {"schedule", cron},
                               {"timeZone", zone},
                               {"state", phase()},
                               {"project", project},
                               {"pipeline", pipeline},
                               {"cluster", cluster},
                               {"owner", owner},
                               {"running", running},
                               {"next", std::move(starts)}});
  if (last_start) {
    value.set("lastStart", format_time(*last_start));
  }
  if (!problem.empty()) {
    value.set("problem", problem);
  }
  return value;
}

Value AbsentStart::to_value() const {
  return Value::object({{"at", format_time(at)},
                        {"kind", kind == Kind::Skipped ? "skipped" : "missed"},
                        {"reason", reason},
                        {"message", message}});
}

Result<AbsentStarts> absent_starts(const Object& schedule, const ScheduleRuns& runs, Instant now,
                                   const FindZone& find) {
  const Value& spec = schedule.spec();
  ATHANOR_TRY(const CronTimes times,
              cron_times(spec["schedule"].as_string(), spec["timeZone"].as_string(), find));
  AbsentStarts absent{.since = std::max(last_change(schedule), now - kJudgedTime)};
  std::vector<StartSpan> starts;
  for (auto at = times.schedule.next(absent.since, times.zone);
       at && *at + kStartPatience <= now && starts.size() < kMostJudged;
       at = times.schedule.next(*at, times.zone)) {
    if (!starts.empty()) {
      starts.back().end = *at;
    }
    starts.push_back({.at = *at, .end = now});
  }
  std::vector<Instant> created = runs.created;
  std::ranges::sort(created);
  for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
    if (take_run(created, start->at)) {
      continue;
    }
    std::optional<AbsentStart> found;
    if (const Object* job = job_of_start(runs.jobs, start->at)) {
      const Value end = end_of_batch_job(*job);
      if (end["type"].as_string() != "Failed") {
        continue;  // its FournosJob is about to come, or was deleted
      }
      found = AbsentStart{.at = start->at,
                          .reason = "JobFailed",
                          .message = fmt::format("job.batch/{} that submits it failed: {}",
                                                 job->name(), end["message"].as_string())};
    }
    if (!found && is_paused(schedule, start->at)) {
      found = AbsentStart{.at = start->at,
                          .kind = AbsentStart::Kind::Skipped,
                          .reason = "Paused",
                          .message = "the schedule is paused"};
    }
    if (!found) {
      found = judge_by_events(*start, runs.events);
    }
    ++absent.total;
    if (absent.starts.size() < kMostAbsent) {
      absent.starts.push_back(found.value_or(
          AbsentStart{.at = start->at,
                      .reason = "NoJob",
                      .message = "no job was created: the controllers did not run at this time, "
                                 "or its job is no longer known"}));
    }
  }
  return absent;
}

bool is_schedule(const Object& object) {
  return object.kind() == api::kFournosJob.name
             ? is_recurring(object)
             : object.label(fournos::kScheduleManagedBy) == fournos::kScheduleManager;
}

bool is_recurring(const Object& object) {
  return object.kind() == api::kFournosJob.name && !object.spec()["schedule"].as_string().empty();
}

bool is_paused(const Object& schedule, Instant now) {
  if (!is_recurring(schedule)) {
    return schedule.spec()["suspend"].as_bool();
  }
  const std::string_view until = schedule.annotation(fournos::name::kRecurringPause);
  return !until.empty() && parse_time(until).value_or(Instant::max()) > now;
}

ScheduleState schedule_state(const Object& schedule, Instant now, const FindZone& find) {
  ScheduleState state =
      is_recurring(schedule) ? recurring_state(schedule, now) : cron_state(schedule, now);
  if (state.paused || state.ended) {
    return state;
  }
  auto starts = next_starts(state.cron, state.zone, now, kShownStarts, find);
  if (!starts.ok()) {
    state.problem = starts.error().message;
  } else if (starts->empty()) {
    state.problem = "no start within five years";
  } else {
    state.next = *std::move(starts);
  }
  return state;
}

const std::vector<std::string>& schedule_phases() {
  static const std::vector<std::string> kPhases{"Active", "Paused", "Ended"};
  return kPhases;
}

Listing schedule_listing(const std::vector<Object>& schedules, bool with_namespace, Instant now,
                         const FindZone& find) {
  Listing listing{.titles = {"NAME", "STATE", "SCHEDULE", "ZONE", "PROJECT", "CLUSTER", "OWNER",
                             "LAST", "NEXT"}};
  if (with_namespace) {
    listing.titles.insert(listing.titles.begin(), "NAMESPACE");
  }
  for (const Object& schedule : schedules) {
    if (!is_schedule(schedule)) {
      continue;
    }
    const ScheduleState state = schedule_state(schedule, now, find);
    ListRow row{.object = schedule,
                .traits = {.phase = std::string(state.phase()), .owner = state.owner}};
    if (with_namespace) {
      row.cells.push_back(state.ns);
    }
    for (std::string cell :
         {state.name, row.traits.phase, state.cron, state.zone.empty() ? "UTC" : state.zone,
          or_dash(state.project), or_dash(state.cluster), or_dash(state.owner),
          state.last_start ? format_age(now - *state.last_start) : std::string("never"),
          state.next.empty() ? or_dash(state.problem) : start_in_list(state.next.front(), now)}) {
      row.cells.push_back(std::move(cell));
    }
    listing.rows.push_back(std::move(row));
  }
  std::ranges::sort(listing.rows, {}, [](const ListRow& row) { return row.object.key(); });
  return listing;
}

}  // namespace athanor::views
