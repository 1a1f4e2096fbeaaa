// SPDX-License-Identifier: Apache-2.0
#include "views/schedule_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kube/text/cron.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::views {
namespace {

constexpr std::size_t kShownStarts = 5;

std::string or_none(std::string text) {
  return text.empty() ? "-" : std::move(text);
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
  const auto schedule = CronSchedule::parse(cron);
  if (!schedule.ok()) {
    return Error::bad_request(fmt::format("\"{}\": {}", cron, schedule.error().message));
  }
  TimeZone local;
  if (!zone.empty()) {
    auto found = find(zone);
    if (!found.ok()) {
      return Error::bad_request(fmt::format("unknown time zone \"{}\"", zone));
    }
    local = *std::move(found);
  }
  std::vector<NextStart> starts;
  for (auto at = schedule->next(now, local); at && starts.size() < count;
       at = schedule->next(*at, local)) {
    starts.push_back({.at = *at, .offset_seconds = local.offset(*at)});
  }
  return starts;
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
                               {"state", paused ? "Paused" : "Active"},
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

bool is_schedule(const Object& cron) {
  return cron.label(fournos::kScheduleManagedBy) == fournos::kScheduleManager;
}

ScheduleState schedule_state(const Object& cron, Instant now, const FindZone& find) {
  const Value& spec = cron.spec();
  const auto noted = [&](std::string_view key) {
    return std::string(cron.annotation(fmt::format("fournos-launcher/{}", key)));
  };
  ScheduleState state{.name = std::string(cron.name()),
                      .ns = std::string(cron.ns()),
                      .cron = spec["schedule"].str(),
                      .zone = spec["timeZone"].str(),
                      .paused = spec["suspend"].as_bool(),
                      .project = noted("project"),
                      .pipeline = noted("pipeline"),
                      .cluster = noted("cluster"),
                      .owner = noted("owner"),
                      .last_start = parse_time(cron.status()["lastScheduleTime"].as_string()),
                      .running = cron.status()["active"].size()};
  if (state.paused) {
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
  static const std::vector<std::string> kPhases{"Active", "Paused"};
  return kPhases;
}

Listing schedule_listing(const std::vector<Object>& crons, bool with_namespace, Instant now,
                         const FindZone& find) {
  Listing listing{.titles = {"NAME", "STATE", "SCHEDULE", "ZONE", "PROJECT", "CLUSTER", "OWNER",
                             "LAST", "NEXT"}};
  if (with_namespace) {
    listing.titles.insert(listing.titles.begin(), "NAMESPACE");
  }
  for (const Object& cron : crons) {
    if (!is_schedule(cron)) {
      continue;
    }
    const ScheduleState state = schedule_state(cron, now, find);
    ListRow row{.object = cron,
                .traits = {.phase = state.paused ? "Paused" : "Active", .owner = state.owner}};
    if (with_namespace) {
      row.cells.push_back(state.ns);
    }
    for (std::string cell :
         {state.name, row.traits.phase, state.cron, state.zone.empty() ? "UTC" : state.zone,
          or_none(state.project), or_none(state.cluster), or_none(state.owner),
          state.last_start ? format_age(now - *state.last_start) : std::string("never"),
          state.next.empty() ? or_none(state.problem)
                             : fmt::format("in {} ({})", format_age(state.next.front().at - now),
                                           state.next.front().local_text())}) {
      row.cells.push_back(std::move(cell));
    }
    listing.rows.push_back(std::move(row));
  }
  std::ranges::sort(listing.rows, {}, [](const ListRow& row) { return row.object.key(); });
  return listing;
}

}  // namespace athanor::views
