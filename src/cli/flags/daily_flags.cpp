// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/daily_flags.hpp"

#include <tuple>
#include <utility>

#include "cli/flags/job_flags.hpp"
#include "cli/flags/list_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

const EnvironmentDefault kResultsClaim{.variable = "FOURNOS_RESULTS_CLAIM",
                                       .otherwise = "fournos-results"};
const EnvironmentDefault kSubmitImage{.variable = "ATHANOR_IMAGE",
                                      .otherwise = "athanor:" ATHANOR_VERSION};

void add_results(flags::Verb& app, DailyVerbs& parsed) {
  ResultsOptions& options = parsed.results;
  auto& verb = *app.add_subcommand("results", "Show a job's results and the files that it left");
  verb.footer(
      "  athanor results my-job\n"
      "  athanor results my-job --copy ./my-job\n\n"
      "Results are those of the pipeline and its tasks. Files are those that the run wrote to its\n"
      "workspace \"results\", a folder of its own in a PersistentVolumeClaim; a pod reads it, for "
      "a\n"
      "moment. They stay when the job is deleted.");
  add_target(verb, options.target);
  add_choice(verb, options.jobs, "the jobs");
  verb.add_option("--copy", options.copy,
                  "copy the files into this folder; of several jobs, into one below it for each")
      ->type_name("DIR");
  options.claim = kResultsClaim.otherwise;
  verb.add_option("--claim", options.claim, "PersistentVolumeClaim with the files")
      ->envname(kResultsClaim.variable)
      ->capture_default_str()
      ->type_name("NAME");
  options.image = "busybox:1.36";
  verb.add_option("--image", options.image, "image of the pod that reads them: sh, find, base64")
      ->capture_default_str()
      ->type_name("IMAGE");
  verb.add_option("--timeout", options.timeout, "time limit of this pod, in seconds")
      ->check(flags::in_range(1, 86400))
      ->capture_default_str();
  add_output(verb, options.output, {Output::Table, Output::Json, Output::Yaml});

  CompareOptions& compare = parsed.compare;
  auto& side =
      *app.add_subcommand("compare", "Show parameters, durations and results of jobs side by side");
  side.footer(
      "  athanor compare before after\n"
      "  athanor compare nightly-a nightly-b nightly-c -o json\n\n"
      "Numbers of the second and further jobs are followed by their difference from the first, in "
      "per\n"
      "cent; n/a where it has no meaning: a base of 0, durations of a few seconds. Parameters that "
      "are\n"
      "equal are left out, unless --all is given.");
  add_target(side, compare.target);
  add_choice(side, compare.jobs, "two jobs or more");
  side.add_flag("--all", compare.all, "parameters that are equal, too");
  add_output(side, compare.output, {Output::Table, Output::Json, Output::Yaml});
}

void add_schedule_create(flags::Verb& list, ScheduleCreateOptions& options) {
  auto& create = *list.add_subcommand("create", "Save a job that starts again and again");
  create.footer(
      "  athanor schedules create nightly --cron '0 2 * * *' --zone Europe/Berlin --project llmd\n"
      "  athanor schedules create hourly --cron @hourly --template llm-nightly\n\n"
      "The flags of the job are those of athanor submit. Each start makes a job with a name of "
      "its\n"
      "own, which is made once, whatever fails meanwhile. A start that was missed, as while the "
      "lab "
      "did\n"
      "not run, is made up for once; --deadline leaves it out after so long.");
  add_target(create, options.job.target);
  create.add_option("schedule", options.name, "the schedule's name")->required();
  create.add_option("--cron", options.cron, "five fields, or @daily, @hourly, @every 6h")
      ->required()
      ->type_name("CRON");
  create.add_option("--zone", options.zone, "time zone, as Europe/Berlin (default: UTC)")
      ->type_name("ZONE");
  create
      .add_option("--overlap", options.overlap,
                  "while a submission runs: Allow another, Forbid it, or Replace the first")
      ->check(flags::one_of({"Allow", "Forbid", "Replace"}))
      ->capture_default_str();
  create
      .add_option("--deadline", options.deadline, "seconds after which a missed start is left out")
      ->check(flags::in_range(10, 31'536'000))
      ->type_name("SECONDS");
  options.image = kSubmitImage.otherwise;
  create.add_option("--image", options.image, "image of Athanor that submits; a lab needs none")
      ->envname(kSubmitImage.variable)
      ->capture_default_str()
      ->type_name("IMAGE");
  create
      .add_option("--service-account", options.service_account,
                  "account of the pods, which may create FournosJobs (default: default)")
      ->type_name("NAME");
  create.add_flag("--replace", options.replace, "replace a schedule of this name");
  auto* file = create.add_option("-f,--file", options.job.files, "manifest of one FournosJob");
  file->allow_extra_args(false);
  create.add_option("--template", options.job.job_template, "a saved job (athanor templates)")
      ->excludes(file)
      ->type_name("NAME");
  add_job_fields(create, options.job);
}

void add_schedules(flags::Verb& app, DailyVerbs& parsed) {
  auto& list = *app.add_subcommand("schedules", "List recurring jobs, make, pause and start them");
  list.footer(
      "  athanor schedules\n"
      "  athanor schedules create nightly --cron '0 2 * * *' --zone Europe/Berlin --project llmd\n"
      "  athanor schedules next nightly\n"
      "  athanor schedules pause nightly\n"
      "  athanor schedules trigger nightly");
  list.require_subcommand(0, 1);
  add_target(list, parsed.schedules.target);
  list.add_flag("-A,--all-namespaces", parsed.schedules.all_namespaces,
                "schedules of every namespace");
  add_list_flags(list, parsed.schedules.list,
                 {.names = "names of schedules",
                  .phases = "Active, Paused or Ended",
                  .owners = true,
                  .since = true});
  add_schedule_create(list, parsed.schedule_create);
  const std::tuple<const char*, const char*, ScheduleVerb> verbs[] = {
      {"pause", "Skip starts until it is resumed", ScheduleVerb::Pause},
      {"resume", "Start again when due", ScheduleVerb::Resume},
      {"trigger", "Start the job now, whether or not it is paused", ScheduleVerb::Trigger},
      {"delete", "Delete schedules; their jobs stay", ScheduleVerb::Delete}};
  for (const auto& [name, help, verb] : verbs) {
    auto& act = *list.add_subcommand(name, help);
    add_target(act, parsed.schedule_act.target);
    add_choice(act, parsed.schedule_act.choice, "the schedules");
    act.callback([&parsed, chosen_verb = verb] { parsed.schedule_act.verb = chosen_verb; });
  }
  auto& next = *list.add_subcommand("next", "Show the next starts, in UTC and in its time zone");
  add_target(next, parsed.schedule_next.target);
  next.add_option("schedule", parsed.schedule_next.name, "a schedule, or a cron line in quotes")
      ->required();
  next.add_option("--zone", parsed.schedule_next.zone, "time zone (default: the schedule's)")
      ->type_name("ZONE");
  next.add_option("--count", parsed.schedule_next.count, "number of starts to print")
      ->check(flags::in_range(1, 1000))
      ->capture_default_str();
  add_output(next, parsed.schedule_next.output, {Output::Table, Output::Json, Output::Yaml});
}

void add_labs(flags::Verb& app, DailyVerbs& parsed) {
  auto& list = *app.add_subcommand("labs", "List this user's labs; stop, delete, merge contexts");
  list.footer(
      "  athanor labs\n"
      "  athanor labs stop athanor\n"
      "  athanor labs merge            # contexts athanor-NAME in ~/.kube/config\n"
      "  athanor labs delete old --force");
  list.require_subcommand(0, 1);
  add_output(list, parsed.labs.output, {Output::Table, Output::Json, Output::Yaml, Output::Name});
  const std::tuple<const char*, const char*, LabVerb> verbs[] = {
      {"stop", "End running labs; their state stays", LabVerb::Stop},
      {"delete", "Delete the folders of labs with all their state", LabVerb::Delete},
      {"merge", "Add contexts of labs to a kubeconfig, as athanor-NAME", LabVerb::Merge}};
  for (const auto& [name, help, verb] : verbs) {
    auto& act = *list.add_subcommand(name, help);
    act.add_option("names", parsed.lab_act.names, "names or folders of labs");
    if (verb == LabVerb::Merge) {
      act.add_option("--into", parsed.lab_act.into,
                     "kubeconfig (default: the first of $KUBECONFIG, else ~/.kube/config)")
          ->type_name("FILE");
    } else {
      act.add_flag("--all", parsed.lab_act.all, "all labs");
      act.add_option("--timeout", parsed.lab_act.timeout, "seconds until a lab has ended")
          ->check(flags::in_range(1, 3600))
          ->capture_default_str();
    }
    if (verb == LabVerb::Delete) {
      act.add_flag("--force", parsed.lab_act.force, "delete running labs, too");
    }
    act.callback([&parsed, chosen_verb = verb] { parsed.lab_act.verb = chosen_verb; });
  }
}

void add_events(flags::Verb& app, EventsOptions& options) {
  auto& verb = *app.add_subcommand("events", "List events of a namespace, or of some objects");
  verb.footer(
      "  athanor events my-job\n"
      "  athanor events my-job pod/my-pod\n"
      "  athanor events --types Warning -w\n"
      "  athanor events pod/my-pod -o wide");
  add_target(verb, options.target);
  verb.add_option("about", options.about,
                  "KIND/NAME, or the name of a job, which includes its run and pods; repeatable");
  verb.add_option("--types", options.types, "Normal or Warning; repeatable, or with commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(flags::one_of({"Normal", "Warning"}))
      ->type_name("TYPE");
  verb.add_flag("-A,--all-namespaces", options.all_namespaces, "events of every namespace");
  add_list_flags(verb, options.list, {.since = true, .watch = "print new events as they happen"});
}

void add_top(flags::Verb& app, TopOptions& options) {
  auto& verb = *app.add_subcommand(
      "top", "Show jobs, queue, clusters, slices and zones live in the terminal");
  verb.footer(
      "  athanor top\n"
      "  athanor top jobs --filter 'phase:Running owner:ann'\n"
      "  athanor top queue --once\n"
      "  athanor top clusters -o json\n\n"
      "Keys: 1-7 or o j u c s z a choose the view; arrows, page up and down scroll; / filters; ? "
      "helps;\n"
      "q ends. It changes nothing. Without a terminal one screen is printed. NO_COLOR=1 leaves "
      "colours out.");
  add_target(verb, options.target);
  verb.add_option("view", options.view,
                  "overview, jobs, queue, clusters, slices, zones or appwrappers")
      ->capture_default_str();
  verb.add_flag("-A,--all-namespaces", options.all_namespaces, "jobs of every namespace");
  verb.add_option("--clusters-namespace", options.clusters_ns, "namespace of the FournosClusters")
      ->envname("HEARTH_NAMESPACE")
      ->default_val("hearth");
  verb.add_option("--filter", options.filter,
                  "words, or column:value; - in front negates: phase:Failed age:<2h -owner:ann")
      ->type_name("FILTER");
  verb.add_flag("--once", options.once, "print one screen and end");
  verb.add_option("--columns", options.columns,
                  "width of the printed screen (default: the terminal's)")
      ->check(flags::in_range(20, 1000))
      ->type_name("N");
  verb.add_option("--lines", options.lines, "height of the printed screen (default: all rows)")
      ->check(flags::in_range(4, 10000))
      ->type_name("N");
  verb.add_option("--interval", options.interval, "seconds between two refreshes")
      ->check(flags::in_range(1, 3600))
      ->capture_default_str()
      ->type_name("SECONDS");
  add_output(verb, options.output, {Output::Table, Output::Json, Output::Yaml});
}

Command chosen_of_schedules(const flags::Verb& schedules, DailyVerbs& parsed) {
  const Target& outer = parsed.schedules.target;
  if (schedules.got_subcommand("create")) {
    inherit(parsed.schedule_create.job.target, outer, "");
    return std::move(parsed.schedule_create);
  }
  if (schedules.got_subcommand("next")) {
    inherit(parsed.schedule_next.target, outer, "");
    return std::move(parsed.schedule_next);
  }
  if (schedules.chosen() != nullptr) {
    inherit(parsed.schedule_act.target, outer, "");
    return std::move(parsed.schedule_act);
  }
  return std::move(parsed.schedules);
}

}  // namespace

void add_daily(flags::Verb& app, DailyVerbs& parsed) {
  add_results(app, parsed);
  add_schedules(app, parsed);
  add_events(app, parsed.events);
  add_top(app, parsed.top);
  add_labs(app, parsed);
}

std::optional<Command> chosen_of_daily(const flags::Verb& app, DailyVerbs& parsed) {
  if (app.got_subcommand("results")) {
    return std::move(parsed.results);
  }
  if (app.got_subcommand("compare")) {
    return std::move(parsed.compare);
  }
  if (app.got_subcommand("events")) {
    return std::move(parsed.events);
  }
  if (app.got_subcommand("top")) {
    return std::move(parsed.top);
  }
  if (app.got_subcommand("schedules")) {
    return chosen_of_schedules(*app.find("schedules"), parsed);
  }
  if (app.got_subcommand("labs")) {
    if (app.find("labs")->chosen() == nullptr) {
      return parsed.labs;
    }
    return std::move(parsed.lab_act);
  }
  return std::nullopt;
}

}  // namespace athanor::cli
