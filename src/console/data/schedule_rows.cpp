// SPDX-License-Identifier: Apache-2.0
#include "console/data/schedule_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/builtin.hpp"
#include "base/files/time_zone_files.hpp"
#include "console/data/row_texts.hpp"
#include "views/schedule_view.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kNextRuns = 5;
constexpr std::size_t kRatedRuns = 20;

std::vector<std::string> fields_of(std::string_view text) {
  std::vector<std::string> fields;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    if (end != 0) {
      fields.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return fields;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string two_digits(const std::string& text) {
  return text.size() == 1 ? "0" + text : text;
}

Result<Value> next_runs(std::string_view text, std::string_view zone_name, Instant now) {
  ATHANOR_TRY(const auto starts,
              views::next_starts(text, zone_name, now, kNextRuns, find_time_zone));
  Value runs = Value::list();
  for (const views::NextStart& start : starts) {
    runs.push_back(format_time(start.at));
  }
  return runs;
}

// Share of the last runs that succeeded.
std::optional<double> success_rate(std::string_view name, std::string_view ns,
                                   std::span<const Value> jobs) {
  std::vector<const Value*> runs;
  for (const Value& job : jobs) {
    if (job["schedule"].as_string() == name && job["ns"].as_string() == ns &&
        job.contains("completed")) {
      runs.push_back(&job);
    }
  }
  std::ranges::sort(runs, std::greater(),
                    [](const Value* job) { return (*job)["created"].as_string(); });
  runs.resize(std::min(runs.size(), kRatedRuns));
  if (runs.empty()) {
    return std::nullopt;
  }
  const auto good = std::ranges::count_if(
      runs, [](const Value* job) { return (*job)["phase"].as_string() == "Succeeded"; });
  return static_cast<double>(good) / static_cast<double>(runs.size());
}

std::string noted(const Object& cron_job, std::string_view what) {
  return std::string(cron_job.annotation(std::string(kLauncher) + std::string(what)));
}

}  // namespace

const ListShape& schedule_shape() {
  using enum ColumnType;
  static const ListShape kShape{
      .name = "schedules",
      .state = "state",
      .columns =
          {{"ns", Text},      {"name", Text},     {"uid", Text},         {"resourceVersion", Text},
           {"state", Text},   {"project", Text},  {"preset", Text},      {"pipeline", Text},
           {"cluster", Text}, {"owner", Text},    {"schedule", Text},    {"timeZone", Text},
           {"words", Text},   {"next", List},     {"lastRun", Time},     {"successRate", Number},
           {"overlap", Text}, {"resolver", Text}, {"pausedUntil", Time}, {"managed", Flag},
           {"created", Time}},
      .words = {}};
  return kShape;
}

bool is_managed(const Object& cron_job) {
  return cron_job.label(kManagedBy) == kManager;
}

std::string schedule_words(std::string_view schedule) {
  if (schedule.starts_with("@every ")) {
    return fmt::format("every {}", schedule.substr(7));
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNamed{
      {{"@hourly", "every hour"},
       {"@daily", "every day at 00:00"},
       {"@midnight", "every day at 00:00"},
       {"@weekly", "every Sunday at 00:00"},
       {"@monthly", "on day 1 of every month at 00:00"},
       {"@yearly", "on 1 January at 00:00"},
       {"@annually", "on 1 January at 00:00"}}};
  for (const auto& [name, words] : kNamed) {
    if (schedule == name) {
      return std::string(words);
    }
  }
  const std::vector<std::string> fields = fields_of(schedule);
  if (fields.size() != 5 || fields[3] != "*") {
    return std::string(schedule);
  }
  const std::string& minute = fields[0];
  const std::string& hour = fields[1];
  const std::string& day = fields[2];
  const std::string& weekday = fields[4];
  constexpr std::array<std::string_view, 8> kDays{"Sunday",   "Monday", "Tuesday",  "Wednesday",
                                                  "Thursday", "Friday", "Saturday", "Sunday"};
  std::string when = "every day";
  if (day != "*" && weekday == "*" && is_number(day)) {
    when = fmt::format("on day {} of every month", day);
  } else if (day == "*" && weekday.size() == 1 && weekday[0] >= '0' && weekday[0] <= '7') {
    when = fmt::format("every {}", kDays.at(static_cast<std::size_t>(weekday[0] - '0')));
  } else if (day == "*" && weekday == "1-5") {
    when = "Monday to Friday";
  } else if (day != "*" || weekday != "*") {
    return std::string(schedule);
  }
  if (is_number(minute) && is_number(hour)) {
    return fmt::format("{} at {}:{}", when, two_digits(hour), two_digits(minute));
  }
  if (when != "every day") {
    return std::string(schedule);
  }
  if (minute.starts_with("*/") && hour == "*") {
    return fmt::format("every {} minutes", minute.substr(2));
  }
  if (minute == "*" && hour == "*") {
    return "every minute";
  }
  return is_number(minute) && hour == "*" ? fmt::format("every hour at minute {}", minute)
                                          : std::string(schedule);
}

Value schedule_preview(std::string_view schedule, std::string_view time_zone, Instant now) {
  auto runs = next_runs(schedule, time_zone, now);
  if (!runs.ok()) {
    return Value::object({{"valid", false}, {"error", runs.error().message}});
  }
  return Value::object(
      {{"valid", true}, {"words", schedule_words(schedule)}, {"next", *std::move(runs)}});
}

std::vector<Value> schedule_rows(const Facts& facts, const Settings& settings,
                                 std::span<const Value> jobs, Instant now) {
  std::vector<Value> rows;
  for (const Object& cron_job : facts.all(api::kCronJob)) {
    if (!is_managed(cron_job) || !settings.shows(cron_job.ns())) {
      continue;
    }
    const Value& spec = cron_job.spec();
    Value row = row_of(cron_job);
    row.set("state", spec["suspend"].as_bool() ? "Paused" : "Active");
    for (const char* what : {"project", "preset", "pipeline", "cluster", "owner"}) {
      set_text(row, what, noted(cron_job, what));
    }
    const std::string schedule = spec["schedule"].str();
    const std::string zone = spec["timeZone"].str();
    set_text(row, "schedule", schedule);
    set_text(row, "timeZone", zone);
    set_text(row, "words", schedule_words(schedule));
    // The next runs move on with time: they are those after the last one.
    if (auto runs = next_runs(schedule, zone, now); runs.ok() && !spec["suspend"].as_bool()) {
      row.set("next", *std::move(runs));
    }
    set_text(row, "lastRun", cron_job.status()["lastScheduleTime"].as_string());
    if (const auto rate = success_rate(cron_job.name(), cron_job.ns(), jobs)) {
      row.set("successRate", *rate);
    }
    set_text(row, "overlap", spec["concurrencyPolicy"].as_string());
    set_text(row, "resolver", noted(cron_job, "resolver-filename"));
    set_text(row, "pausedUntil", noted(cron_job, "paused-until"));
    row.set("managed", true);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace athanor::console
