// SPDX-License-Identifier: Apache-2.0
// Options of the verbs of daily work beside jobs: results, schedules, labs, events, the live
// view.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/job_options.hpp"
#include "cli/flags/target.hpp"
#include "cli/output/list_options.hpp"

namespace athanor::cli {

// Options of `athanor results`.
struct ResultsOptions {
  Target target{};
  NameChoice jobs{};
  std::string copy{};   // folder that gets the files; empty: none are copied
  std::string claim{};  // the PersistentVolumeClaim with the files
  std::string image{};  // of the pod that reads it
  int timeout = 60;     // seconds that this pod may take
  Output output = Output::Table;
};

// Options of `athanor compare`.
struct CompareOptions {
  Target target{};
  NameChoice jobs{};
  bool all = false;  // parameters that are equal, too
  Output output = Output::Table;
};

// Options of `athanor schedules`.
struct SchedulesOptions {
  Target target{};
  bool all_namespaces = false;
  ListOptions list{};
};

// Options of `athanor schedules create`: the job is that of `athanor submit` with the same flags.
struct ScheduleCreateOptions {
  SubmitOptions job{};
  std::string name{};
  std::string cron{};
  std::string zone{};
  std::string overlap = "Allow";  // a CronJob's concurrencyPolicy
  std::int64_t deadline = 0;      // seconds after which a missed start is left out; 0: none
  std::string image{};
  std::string service_account{};
  bool replace = false;
};

// Options of `athanor schedules pause`, `resume`, `trigger` and `delete`.
enum class ScheduleVerb : std::uint8_t { Pause, Resume, Trigger, Delete };
struct ScheduleActOptions {
  Target target{};
  NameChoice choice{};
  ScheduleVerb verb = ScheduleVerb::Pause;
};

// Options of `athanor schedules next`.
struct ScheduleNextOptions {
  Target target{};
  std::string name{};  // a schedule, or a cron line
  std::string zone{};  // of a cron line
  std::int64_t count = 5;
  Output output = Output::Table;
};

// Options of `athanor labs`.
struct LabsOptions {
  Output output = Output::Table;
};

// Options of `athanor labs stop`, `delete` and `merge`.
enum class LabVerb : std::uint8_t { Stop, Delete, Merge };
struct LabActOptions {
  LabVerb verb = LabVerb::Stop;
  std::vector<std::string> names{};  // folders, or their last parts
  std::string into{};                // kubeconfig that merge writes
  bool all = false;
  bool force = false;  // delete: a running one, too
  int timeout = 30;    // seconds
};

// Options of `athanor events`.
struct EventsOptions {
  Target target{};
  bool all_namespaces = false;
  std::vector<std::string> about{};  // KIND/NAME, or a job's name
  std::vector<std::string> types{};  // Normal, Warning
  ListOptions list{};
};

// Options of `athanor top`.
struct TopOptions {
  Target target{};
  std::string view = "overview";
  bool all_namespaces = false;
  std::string clusters_ns{};
  std::string filter{};
  bool once = false;  // print one screen and end
  int columns = 0;    // of that screen; 0: the terminal's
  int lines = 0;      // likewise
  int interval = 2;   // seconds
  Output output = Output::Table;
};

}  // namespace athanor::cli
