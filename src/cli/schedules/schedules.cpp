// SPDX-License-Identifier: Apache-2.0
// athanor schedules.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "base/files/time_zone_files.hpp"
#include "base/interrupt.hpp"
#include "base/near_name.hpp"
#include "cli/flags/environment.hpp"
#include "cli/jobs/job_builder.hpp"
#include "cli/jobs/job_files.hpp"
#include "cli/jobs/job_templates.hpp"
#include "cli/jobs/preflight.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/recurring_messages.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "views/schedule_view.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr Duration kLook = std::chrono::seconds(2);  // between two lists that are watched
constexpr Duration kAway = std::chrono::seconds(60);
constexpr int kMissing = 404;
constexpr int kTaken = 409;

// Reads a CronJob or a FournosJob with spec.schedule. An object of this name that is no schedule is
// none (docs/spec/dashboard.md A11 F2).
Result<Object> read_schedule(Session& session, const std::string& name) {
  auto cron = session.get(api::kCronJob, session.ns(), name);
  auto job = session.get(api::kFournosJob, session.ns(), name);
  const bool of_job = job.ok() && views::is_recurring(*job);
  if (cron.ok() && views::is_schedule(*cron)) {
    return of_job
               ? Result<Object>(Error::bad_request(fmt::format(
                     "schedule \"{}\" is both a CronJob and a FournosJob in namespace {}: rename "
                     "one of them",
                     name, session.ns())))
               : std::move(cron);
  }
  if (of_job) {
    return job;
  }
  if (!cron.ok() && cron.error().code != kMissing) {
    return cron;
  }
  return Error::not_found(fmt::format(
      "schedule \"{}\" not found in namespace {}{}", name, session.ns(),
      cron.ok() ? fmt::format(": the CronJob lacks the label {}", fournos::kScheduleSelector)
                : ""));
}

// Returns the verb below `schedules` that this word stands for in other tools, or nearly is.
std::string verb_meant(const std::string& word) {
  static const std::map<std::string, std::string, std::less<>> kOtherWords{
      {"add", "create"},  {"new", "create"},    {"remove", "delete"}, {"rm", "delete"},
      {"run", "trigger"}, {"start", "trigger"}, {"stop", "pause"},    {"suspend", "pause"}};
  static const std::vector<std::string> kVerbs{"create",  "pause",  "resume",
                                               "trigger", "delete", "next"};
  const auto other = kOtherWords.find(word);
  return other != kOtherWords.end() ? other->second : near_name(word, kVerbs);
}

// Returns the FournosJobs with spec.schedule. `labels`: a selector; empty: all.
Result<std::vector<Object>> read_recurring(Session& session, const std::string& ns,
                                           const std::string& labels) {
  auto jobs = session.list(api::kFournosJob, ns, labels);
  if (!jobs.ok()) {
    // A server may have no FournosJobs.
    return jobs.error().code == kMissing ? Result<std::vector<Object>>(std::vector<Object>())
                                         : std::move(jobs);
  }
  std::erase_if(*jobs, [](const Object& job) { return !views::is_recurring(job); });
  return jobs;
}

Result<std::vector<Object>> read_schedules(Session& session, const SchedulesOptions& options) {
  const std::string ns = options.all_namespaces ? "" : session.ns();
  ATHANOR_TRY(std::vector<Object> schedules,
              session.list(api::kCronJob, ns, std::string(fournos::kScheduleSelector)));
  ATHANOR_TRY(std::vector<Object> recurring, read_recurring(session, ns, ""));
  std::ranges::move(recurring, std::back_inserter(schedules));
  return schedules;
}

// Prints the rows of schedules that change, until Ctrl-C. `crons`: what is printed already.
Result<int> watch_schedules(Session& session, const SchedulesOptions& options,
                            const ListFilter& filter, const std::vector<Object>& crons) {
  std::map<Key, std::string> versions;
  for (const Object& cron : crons) {
    versions.insert_or_assign(cron.key(), cron.resource_version());
  }
  ListOptions rows = options.list;
  rows.no_headers = true;
  const Terminal out(STDOUT_FILENO);
  const Interrupt interrupt;
  Reconnection reconnection("schedules", kAway);
  while (true) {
    for (Duration waited{}; waited < kLook; waited += kPause) {
      if (interrupt.came()) {
        return kInterrupted;
      }
      std::this_thread::sleep_for(kPause);
    }
    const Instant now = wall_clock()->now();
    auto listed = read_schedules(session, options);
    if (!listed.ok()) {
      if (!is_passing(listed.error())) {
        return listed.error();
      }
      reconnection.failed(listed.error(), now);
      if (reconnection.lost(now)) {
        return listed.error();
      }
      continue;
    }
    reconnection.answered();
    std::erase_if(*listed, [&](const Object& cron) {
      std::string& known = versions[cron.key()];
      return std::exchange(known, std::string(cron.resource_version())) == cron.resource_version();
    });
    views::Listing changed =
        views::schedule_listing(*listed, options.all_namespaces, now, find_time_zone);
    ATHANOR_TRY_VOID(arrange(changed, filter, rows));
    if (!changed.rows.empty()) {
      ATHANOR_TRY(const std::string text, print_listing(changed, rows, out.columns()));
      out.print(text);
    }
  }
}

Result<int> list_schedules(const SchedulesOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const ListOptions& list = options.list;
  const Instant now = wall_clock()->now();
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, views::schedule_phases(), now));
  ATHANOR_TRY_VOID(check_watch(list));
  ATHANOR_TRY(const std::vector<Object> crons, read_schedules(session, options));
  const std::vector<std::string> missing = filter.missing(crons);
  if (missing.size() == 1 && list.names.size() > 1 && missing.front() == list.names.front()) {
    if (const std::string verb = verb_meant(missing.front()); !verb.empty()) {
      return wrong_usage(fmt::format("there is no schedule \"{}\"; did you mean \"schedules {}\"?",
                                     missing.front(), verb));
    }
  }
  views::Listing listing =
      views::schedule_listing(crons, options.all_namespaces, now, find_time_zone);
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && missing.empty() && list.format.is_table() && !list.watch) {
    Terminal(STDERR_FILENO)
        .print(fmt::format(
            "No schedules{} in {}. Make one: athanor schedules create NAME --cron '0 2 * * *' "
            "--project P ...\n{}",
            is_filtered(list) ? " that the flags select" : "",
            options.all_namespaces ? "any namespace" : "namespace " + session.ns(),
            options.all_namespaces ? ""
                                   : hint_elsewhere(session, api::kCronJob, "schedules",
                                                    std::string(fournos::kScheduleSelector))));
    return 0;
  }
  const Terminal out(STDOUT_FILENO);
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  if (list.watch && missing.empty()) {
    return watch_schedules(session, options, filter, crons);
  }
  return report_missing("schedule", missing);
}

// The job of the flags, a file, a template or a stored job.
Result<Value> job_to_schedule(Session& session, const SubmitOptions& options) {
  if (options.files.size() > 1) {
    return wrong_usage("a schedule starts one job: give one --file");
  }
  std::vector<Value> jobs;
  if (!options.job_template.empty()) {
    ATHANOR_TRY(Value job, read_template(session, options.job_template));
    jobs.push_back(std::move(job));
  } else if (!options.files.empty()) {
    ATHANOR_TRY(const std::string text, read_manifest(options.files.front()));
    ATHANOR_TRY(jobs, read_jobs(text, options.files.front()));
  } else {
    return build_job(options, user_name());
  }
  if (jobs.size() != 1) {
    return wrong_usage(fmt::format("a schedule starts one job: there are {}", jobs.size()));
  }
  ATHANOR_TRY_VOID(override_job(jobs.front(), options));
  return jobs.front();
}

// The pods need an account that exists; the right to create jobs is the cluster's affair.
Result<void> check_account(Session& session, const std::string& account) {
  if (account.empty()) {
    return {};
  }
  const auto found = session.get(api::kServiceAccount, session.ns(), account);
  return found.ok() || found.error().code != kMissing
             ? Result<void>()
             : Result<void>(fournos::missing_account(session.ns(), account));
}

// Checks the zone that --zone gave; empty: none.
Result<void> check_zone(const std::string& zone) {
  if (zone.empty()) {
    return {};
  }
  const auto found = find_time_zone(zone);
  return found.ok() ? Result<void>() : wrong_usage("--zone: " + found.error().message);
}

Result<int> create_schedule(const ScheduleCreateOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.job.target, Session::Home::Jobs));
  ATHANOR_TRY(const Value job, job_to_schedule(session, options.job));
  ATHANOR_TRY_VOID(check_account(session, options.service_account));
  const Instant now = wall_clock()->now();
  ATHANOR_TRY_VOID(check_zone(options.zone));
  const auto starts = views::next_starts(options.cron, options.zone, now, 1, find_time_zone);
  if (!starts.ok()) {
    return wrong_usage("--cron: " + starts.error().message);
  }
  if (starts->empty()) {
    return wrong_usage(fmt::format("--cron: \"{}\" has no start within five years", options.cron));
  }
  fournos::ScheduleSpec spec{.name = options.name,
                             .ns = session.ns(),
                             .cron = options.cron,
                             .zone = options.zone,
                             .overlap = options.overlap,
                             .image = options.image,
                             .service_account = options.service_account,
                             .preset = options.job.args.empty() ? "" : options.job.args.front(),
                             .job = job};
  if (options.deadline > 0) {
    spec.deadline_seconds = options.deadline;
  }
  ATHANOR_TRY(const Value cron, fournos::schedule_object(spec));
  // The job itself is checked now, not at its first start.
  Value trial = job;
  trial.member("metadata").erase("namespace");
  ATHANOR_TRY(const Value checked,
              session.connection().call(
                  {.method = "POST",
                   .path = Session::path(api::kFournosJob, session.ns()) +
                           "?fieldManager=athanor-submit&fieldValidation=Strict&dryRun=All",
                   .body = trial}));
  // A cluster may be there until then: said, not refused.
  if (const Preflight ahead = preflight(session, checked, session.ns()); !ahead.failure.empty()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("athanor: as it is now each start would fail at once: {}{}\n",
                           ahead.failure, correction(session, ahead.failure)));
  }
  const std::string path = Session::path(api::kCronJob, session.ns());
  auto created = session.connection().call(
      {.method = "POST", .path = path + "?fieldManager=athanor-schedules", .body = cron});
  if (!created.ok() && created.error().code == kTaken && options.replace) {
    // One write: a schedule is never lost between two (F3).
    ATHANOR_TRY(const Object old, read_schedule(session, options.name));
    Value replacement = cron;
    replacement.member("metadata").set("resourceVersion", old.resource_version());
    created = session.connection().call(
        {.method = "PUT",
         .path = Session::path(api::kCronJob, session.ns(), options.name) +
                 "?fieldManager=athanor-schedules",
         .body = replacement});
  }
  if (!created.ok()) {
    return created.error();
  }
  const std::string first = starts->empty()
                                ? "never starts"
                                : fmt::format("starts next at {}", starts->front().local_text());
  Terminal(STDOUT_FILENO)
      .print(fmt::format("schedule {} saved in namespace {}; it {}\n", options.name, session.ns(),
                         first));
  return 0;
}

// Writes an annotation of a recurring job; an empty value removes it. `version`: the only
// resourceVersion that may be changed; empty: any.
Result<void> annotate(Session& session, const Object& job, std::string_view key,
                      const std::string& value, const std::string& version = "") {
  Value body = Value::object();
  if (!version.empty()) {
    body.set_path({"metadata", "resourceVersion"}, version);
  }
  body.set_path({"metadata", "annotations", key}, value.empty() ? Value() : Value(value));
  ATHANOR_TRY_VOID(session.connection().call(
      {.method = "PATCH",
       .path = Session::path(api::kFournosJob, session.ns(), std::string(job.name())) +
               "?fieldManager=athanor-schedules",
       .body = body,
       .content_type = "application/merge-patch+json"}));
  return {};
}

// Asks for one job of a recurring job. A request that is still pending would swallow this one, so
// the write holds only for the state that was read.
Result<void> ask_for_start(Session& session, Object job) {
  constexpr int kAttempts = 5;  // the controllers write the job, too
  const std::string name(job.name());
  for (int attempt = 0; attempt < kAttempts && job.annotation(fournos::name::kTriggerNow) != "true";
       ++attempt) {
    const auto written = annotate(session, job, fournos::name::kTriggerNow, "true",
                                  std::string(job.resource_version()));
    if (written.ok() || written.error().code != kTaken) {
      return written;
    }
    ATHANOR_TRY(job, session.get(api::kFournosJob, session.ns(), name));
  }
  return Error::conflict(fmt::format(
      "another start of schedule \"{}\" is pending: trigger it again once that has begun", name));
}

// Acts on a FournosJob with spec.schedule (docs/spec/fournos.md 19).
Result<void> act_on_recurring(Session& session, ScheduleVerb verb, const Object& job) {
  const Terminal out(STDOUT_FILENO);
  const Instant now = wall_clock()->now();
  const std::string name(job.name());
  if (verb == ScheduleVerb::Delete) {
    ATHANOR_TRY_VOID(
        session.connection().call({.method = "DELETE",
                                   .path = Session::path(api::kFournosJob, session.ns(), name) +
                                           "?propagationPolicy=Background"}));
    out.print(fmt::format("schedule {} deleted; its jobs stay\n", name));
    return {};
  }
  if (views::schedule_state(job, now, find_time_zone).ended) {
    return Error::bad_request(
        fmt::format("schedule \"{}\" has ended: {}", name, job.status()["message"].as_string()));
  }
  switch (verb) {
    case ScheduleVerb::Pause:
      ATHANOR_TRY_VOID(annotate(session, job, fournos::name::kRecurringPause,
                                std::string(fournos::name::kForever)));
      out.print(fmt::format("schedule {} paused\n", name));
      break;
    case ScheduleVerb::Resume:
      // The time of the resumption stays: what fell into the pause is not made up for.
      if (views::is_paused(job, now)) {
        ATHANOR_TRY_VOID(annotate(session, job, fournos::name::kRecurringPause, format_time(now)));
      }
      out.print(fmt::format("schedule {} resumed\n", name));
      break;
    case ScheduleVerb::Trigger:
      ATHANOR_TRY_VOID(ask_for_start(session, job));
      out.print(fmt::format("schedule {} triggered: its jobs have the label {}={}\n", name,
                            fournos::name::kRecurringParent, name));
      break;
    case ScheduleVerb::Delete:
      break;
  }
  return {};
}

Result<void> act_on(Session& session, const ScheduleActOptions& options, const std::string& name) {
  ATHANOR_TRY(const Object cron, read_schedule(session, name));
  if (views::is_recurring(cron)) {
    return act_on_recurring(session, options.verb, cron);
  }
  const std::string path = Session::path(api::kCronJob, session.ns(), name);
  const Terminal out(STDOUT_FILENO);
  switch (options.verb) {
    case ScheduleVerb::Pause:
    case ScheduleVerb::Resume: {
      const bool pause = options.verb == ScheduleVerb::Pause;
      ATHANOR_TRY_VOID(session.connection().call(
          {.method = "PATCH",
           .path = path + "?fieldManager=athanor-schedules",
           .body = Value::object({{"spec", Value::object({{"suspend", pause}})}}),
           .content_type = "application/merge-patch+json"}));
      out.print(fmt::format("schedule {} {}\n", name, pause ? "paused" : "resumed"));
      return {};
    }
    case ScheduleVerb::Trigger: {
      const Value job = fournos::manual_start(cron, wall_clock()->now());
      ATHANOR_TRY_VOID(session.connection().call(
          {.method = "POST",
           .path = Session::path(api::kJob, session.ns()) + "?fieldManager=athanor-schedules",
           .body = job}));
      out.print(fmt::format("schedule {} triggered: job.batch/{}\n", name,
                            job["metadata"]["name"].as_string()));
      return {};
    }
    case ScheduleVerb::Delete:
      ATHANOR_TRY_VOID(session.connection().call(
          {.method = "DELETE", .path = path + "?propagationPolicy=Background"}));
      out.print(fmt::format("schedule {} deleted; its jobs stay\n", name));
      return {};
  }
  return {};
}

// Returns the names of CronJobs and of FournosJobs, "KIND/NAME" of both as NAME.
Result<std::vector<std::string>> schedule_names(Session& session, const NameChoice& choice) {
  NameChoice plain = choice;
  for (std::string& word : plain.names) {
    for (const char* kind : {"fournosjob/", "fournosjobs/", "fournosjob.fournos.dev/"}) {
      word = word.starts_with(kind) ? word.substr(std::string_view(kind).size()) : word;
    }
  }
  auto names = chosen_names(session, api::kCronJob, plain, fournos::kScheduleSelector);
  if (choice.labels.empty() || (!names.ok() && names.error().code != kMissing)) {
    return names;
  }
  ATHANOR_TRY(const std::vector<Object> recurring,
              read_recurring(session, session.ns(), choice.labels));
  if (recurring.empty()) {
    return names;
  }
  std::vector<std::string> all = std::move(names).value_or({});
  for (const Object& job : recurring) {
    all.emplace_back(job.name());
  }
  return all;
}

Result<int> act_on_schedules(const ScheduleActOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::vector<std::string> names, schedule_names(session, options.choice));
  return for_each_name(names, [&](const std::string& name) -> Result<int> {
    ATHANOR_TRY_VOID(act_on(session, options, name));
    return 0;
  });
}

Result<int> show_next(const ScheduleNextOptions& options) {
  ATHANOR_TRY_VOID(check_zone(options.zone));
  std::string cron = options.name;
  std::string zone = options.zone;
  // A cron line has blanks, or begins with @; a name has neither.
  if (cron.find(' ') == std::string::npos && !cron.starts_with('@')) {
    ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
    ATHANOR_TRY(const Object schedule, read_schedule(session, options.name));
    cron = schedule.spec()["schedule"].str();
    zone = zone.empty() ? schedule.spec()["timeZone"].str() : zone;
    if (views::is_paused(schedule, wall_clock()->now())) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("athanor: schedule {} is paused: these starts do not happen\n",
                             options.name));
    }
  }
  const Instant now = wall_clock()->now();
  const auto starts =
      views::next_starts(cron, zone, now, static_cast<std::size_t>(options.count), find_time_zone);
  if (!starts.ok()) {
    return wrong_usage(starts.error().message);
  }
  const Terminal out(STDOUT_FILENO);
  if (starts->empty()) {
    Terminal(STDERR_FILENO).print(fmt::format("athanor: {}: no start within five years\n", cron));
  }
  if (options.output != Output::Table) {
    std::vector<Value> values;
    values.reserve(starts->size());
    for (const views::NextStart& start : *starts) {
      values.push_back(start.to_value(now));
    }
    ATHANOR_TRY(
        const std::string text,
        render_values(values, {.output = options.output, .pattern = {}}, Shape::List, false));
    out.print(text);
    return 0;
  }
  if (starts->empty()) {
    return 0;
  }
  views::Table table({"UTC", zone.empty() ? "LOCAL" : zone, "IN"});
  for (const views::NextStart& start : *starts) {
    std::string utc = format_time(start.at);
    table.add({std::move(utc), start.local_text(), format_age(start.at - now)});
  }
  out.print(table.text(out.columns()));
  return 0;
}

}  // namespace

int run(const SchedulesOptions& options) {
  const auto code = list_schedules(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const ScheduleCreateOptions& options) {
  const auto code = create_schedule(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const ScheduleActOptions& options) {
  const auto code = act_on_schedules(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const ScheduleNextOptions& options) {
  const auto code = show_next(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
