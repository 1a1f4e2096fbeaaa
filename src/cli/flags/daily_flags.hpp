// SPDX-License-Identifier: Apache-2.0
// The verbs of daily work beside jobs, with their flags: results, compare,
// schedules, labs, events, top.
#pragma once

#include <optional>

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Options of each of these verbs.
struct DailyVerbs {
  ResultsOptions results{};
  CompareOptions compare{};
  SchedulesOptions schedules{};
  ScheduleCreateOptions schedule_create{};
  ScheduleActOptions schedule_act{};
  ScheduleNextOptions schedule_next{};
  LabsOptions labs{};
  LabActOptions lab_act{};
  EventsOptions events{};
  TopOptions top{};
};

// Adds the verbs with their flags.
void add_daily(flags::Verb& app, DailyVerbs& parsed);
// Returns what one of them was given; nullopt: another verb was.
std::optional<Command> chosen_of_daily(const flags::Verb& app, DailyVerbs& parsed);

}  // namespace athanor::cli
