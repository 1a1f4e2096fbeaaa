// SPDX-License-Identifier: Apache-2.0
// The table of verbs and flags.
#include "cli/flags/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/near_name.hpp"
#include "cli/flags/cluster_flags.hpp"
#include "cli/flags/console_flags.hpp"
#include "cli/flags/daily_flags.hpp"
#include "cli/flags/image_flags.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/lab_flags.hpp"
#include "cli/flags/list_flags.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "cli/flags/vault_flags.hpp"
#include "cli/flags/verb_words.hpp"
#include "flags/verb.hpp"
#include "product/list.hpp"

namespace athanor::cli {
namespace {

// One entry for each verb of each system; add_system_verbs() binds flags to them.
std::vector<SystemVerbOptions> system_verb_table() {
  std::vector<SystemVerbOptions> verbs;
  for (const System* system : all_systems()) {
    for (const Verb& verb : system->verbs) {
      verbs.push_back({.verb = &verb});
    }
  }
  return verbs;
}

constexpr const char* kExitCodes =
    R"(Flags of the connection (address of the API server, credentials) may also stand before the verb:
--kubeconfig, --context, -n, -s, --certificate-authority, --insecure-skip-tls-verify, --token, --as,
--as-group, -v.

Exit codes:
  0    done (submit --follow: the job Succeeded)
  1    failed, refused or not found; stderr says why
  2    wrong usage: an unknown verb or flag, a missing or impossible value
  3    the outcome is unknown: the API server went away while a job was followed; the job continues
  130  Ctrl-C while something was followed or watched; the job continues)";

struct StandInValues {
  FlagValues apiserver{apiserver_flags()};
  FlagValues etcd{etcd_flags()};
};

struct Parsed {
  UpOptions up{};
  ControllersOptions controllers{};
  ConsoleOptions console{};
  ExtenderOptions extender{};
  EnvtestOptions envtest{};
  StandInValues stand_ins{};
  SubmitOptions submit{};
  SubmitOptions rerun{};
  DescribeOptions describe{};
  WaitOptions wait{};
  JobsOptions jobs{};
  LogsOptions logs{};
  TemplateVerbs templates{};
  DailyVerbs daily{};
  CancelOptions cancel{};
  QueueOptions queue{};
  AppWrappersOptions appwrappers{};
  AppWrapperActOptions appwrapper_act{};
  ClusterVerbs cluster_verbs{};
  BackupOptions backup{};
  RestoreOptions restore{};
  ImagesOptions images{};
  SimulateOptions simulate{};
  CrdsOptions crds{};
  RbacOptions rbac{};
  WebhooksOptions webhooks{};
  ReplayOptions replay{};
  SystemsOptions systems{};
  std::vector<SystemVerbOptions> system_verbs = system_verb_table();
  VaultVerbs vault{};
  VersionOptions version{};
  CompletionOptions completion{};
  ManOptions man{};
};

void add_backups(flags::Verb& app, Parsed& parsed) {
  auto& backup = *app.add_subcommand("backup", "Copy a lab's state into one file, while it runs");
  backup.add_option("file", parsed.backup.file, "file to write; replaced when complete")
      ->required();
  backup
      .add_option("--data", parsed.backup.data,
                  "folder of the lab's state (default: $XDG_STATE_HOME/athanor)")
      ->envname("ATHANOR_DATA");
  auto& restore = *app.add_subcommand("restore", "Make a lab's folder from a backup");
  restore.add_option("file", parsed.restore.file, "a file that athanor backup wrote")->required();
  restore
      .add_option("--data", parsed.restore.data, "the folder to make; it must hold no state yet")
      ->required();
}

// The first two are here for help, pages and completion; parse_stand_in reads their command lines.
void add_stand_ins(flags::Verb& app, EnvtestOptions& envtest, StandInValues& values) {
  describe_apiserver(
      *app.add_subcommand("apiserver", "The API server alone, with kube-apiserver's flags"),
      values.apiserver);
  describe_etcd(
      *app.add_subcommand("etcd", "Stand in for the etcd that test suites start; stores nothing"),
      values.etcd);
  auto& verb = *app.add_subcommand(
      "envtest",
      "Put kube-apiserver, etcd and kubectl where a controller-runtime suite finds them");
  verb.footer(
      "  eval $(athanor envtest ~/envtest)\n"
      "  go test ./...\n\n"
      "The executables are links to this program; kubectl is a link to that of PATH.");
  verb.add_option("directory", envtest.directory, "folder of the programs; made when missing")
      ->required();
}

void add_readers(flags::Verb& app, Parsed& parsed) {
  auto& jobs =
      *app.add_subcommand("jobs", "List jobs, or show one with everything that belongs to it");
  add_target(jobs, parsed.jobs.target);
  jobs.footer(
      "  athanor jobs --phase Failed --since 2d --sort-by duration\n"
      "  athanor jobs -A -l team=llm -o custom-columns=NAME:.metadata.name,ON:.status.cluster\n"
      "  athanor jobs -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'\n"
      "  athanor jobs --since 30d -o trace > trace.csv    # for athanor simulate");
  jobs.add_flag("-A,--all-namespaces", parsed.jobs.all_namespaces, "jobs of every namespace");
  add_list_flags(jobs, parsed.jobs.list,
                 {.names = "names of jobs; a single one is shown with what belongs to it",
                  .phases = "jobs in this phase",
                  .owners = true,
                  .since = true,
                  .more = {Output::Trace}});

  add_logs(app, parsed.logs);
  add_cancel(app, parsed.cancel);

  auto& queue =
      *app.add_subcommand("queue", "List waiting workloads, their requests, and why they wait");
  add_target(queue, parsed.queue.target);
  queue.add_option("names", parsed.queue.names, "queues or cohorts: their quota and use");
  queue
      .add_option(
          "--explain", parsed.queue.explain,
          "explain why this job waits, which workloads are ahead of it, which it would preempt")
      ->type_name("JOB");
  queue.add_flag("-A,--all-namespaces", parsed.queue.all_namespaces,
                 "workloads of every namespace");
  add_list_flags(queue, parsed.queue.list,
                 {.names = {},
                  .phases = "running, has-quota, waiting or inactive",
                  .owners = true,
                  .since = true,
                  .watch = "print changes of position, admission and reason"});
  for (const char* flag : {"--watch", "--phase", "--owner", "--since"}) {
    queue.get_option(flag)->excludes("--explain")->excludes("names");
  }
}

void add_appwrappers(flags::Verb& app, Parsed& parsed) {
  auto& list = *app.add_subcommand("appwrappers", "List AppWrappers, or show one as a tree");
  list.footer(
      "  athanor appwrappers -A\n"
      "  athanor appwrappers sample\n"
      "  athanor appwrappers retry sample");
  list.require_subcommand(0, 1);
  add_target(list, parsed.appwrappers.target);
  list.add_flag("-A,--all-namespaces", parsed.appwrappers.all_namespaces,
                "AppWrappers of every namespace");
  add_list_flags(
      list, parsed.appwrappers.list,
      {.names = "names of AppWrappers; a single one is shown with objects, pods and timers",
       .phases = "AppWrappers in this phase",
       .owners = true,
       .since = true});
  const std::tuple<const char*, const char*, AppWrapperVerb> verbs[] = {
      {"retry", "Queue a failed AppWrapper again", AppWrapperVerb::Retry},
      {"suspend", "Remove the objects, give the quota back and wait", AppWrapperVerb::Suspend},
      {"resume", "Queue a suspended AppWrapper again", AppWrapperVerb::Resume}};
  for (const auto& [name, help, verb] : verbs) {
    auto& act = *list.add_subcommand(name, help);
    add_target(act, parsed.appwrapper_act.target);
    add_choice(act, parsed.appwrapper_act.choice, "the AppWrappers");
    act.callback([&parsed, chosen_verb = verb] { parsed.appwrapper_act.verb = chosen_verb; });
  }
}

void add_rbac(flags::Verb& app, RbacOptions& options) {
  auto& rbac =
      *app.add_subcommand("rbac", "Print roles with the least rights that the controllers need");
  rbac.add_flag("--people", options.people,
                "print the roles of people instead: our kinds in Kubernetes' view, edit and admin; "
                "of all systems, or of those that --controllers names");
  rbac.add_flag("--console", options.console,
                "print the account and roles of athanor console with CONSOLE_AUTH=token instead; "
                "FOURNOS_NAMESPACE and CONSOLE_NAMESPACES say where it reads jobs");
  rbac.add_option("--controllers", options.controllers,
                  "systems and controllers, as for athanor controllers; * is those by default: " +
                      system_names());
  rbac.add_option("-n,--namespace", options.namespaces,
                  "namespace in which the controllers work; may be repeated (default: as FOURNOS_* "
                  "and HEARTH_* say when "
                  "FOURNOS_WORKLOAD_NAMESPACE (or FOURNOS_NAMESPACE) is set, each with what is "
                  "done there; else the whole "
                  "cluster)")
      ->delimiter(',');
  rbac.add_option("--install-namespace", options.install_namespace, "namespace of the controllers");
  rbac.add_option("--name", options.name,
                  "name of the service account, the roles and the bindings");
  rbac.add_option("--leader-elect", options.leader_elect, "include the rights to elect a leader");
  rbac.add_option("--leader-elect-resource-name", options.lease, "the Lease's name");
  rbac.add_flag("--webhooks", options.webhooks, "include the rights to serve webhooks");
  rbac.add_option("--webhook-secret", options.webhook_secret, "the serving certificate's Secret");
  rbac.add_option("--webhook-crd", options.webhook_crds,
                  "custom resource definition whose conversion webhook they serve; may be repeated")
      ->delimiter(',');
  add_output(rbac, options.output, {Output::Yaml, Output::Json, Output::Name});
}

void add_webhooks(flags::Verb& app, WebhooksOptions& options) {
  auto& webhooks = *app.add_subcommand(
      "webhooks", "Print the Service and the configurations that register the webhooks");
  webhooks.add_option(
      "--controllers", options.controllers,
      "systems and controllers, as for athanor controllers; systems: " + system_names());
  webhooks.add_option("--install-namespace", options.install_namespace,
                      "namespace of the controllers");
  webhooks.add_option("--name", options.name, "name of the configurations, and of the pods' label");
  webhooks.add_option("--service", options.service, "the Service's name");
  webhooks.add_option("--url", options.url,
                      "https://HOST:PORT of the webhooks for the API server, instead of a Service");
  add_output(webhooks, options.output, {Output::Yaml, Output::Json, Output::Name});
}

void add_replay(flags::Verb& app, ReplayOptions& options) {
  auto& replay = *app.add_subcommand(
      "replay",
      "Feed a record (athanor controllers --record) to this program's controllers and "
      "show their decisions; exit code 1 if any differs from the record");
  replay.add_option("file", options.file, "the record")->required()->type_name("FILE");
  replay.add_option("--until", options.until, "stop after this many lines (default: all)");
  replay.add_option("--controller", options.controller, "show the plans of one controller alone");
  replay.add_flag("--differences", options.differences, "show differences alone");
  add_output(replay, options.output, {Output::Table, Output::Json});
}

void add_system_verb(flags::Verb& app, SystemVerbOptions& options) {
  const Verb& verb = *options.verb;
  auto& added = *app.add_subcommand(std::string(verb.name), std::string(verb.summary));
  added.footer(std::string(verb.footer));
  add_target(added, options.target);
  options.target.ns = verb.default_ns;
  if (verb.namespaced) {
    added.add_flag("-A,--all-namespaces", options.all_namespaces, "act on every namespace");
  }
  for (const VerbArgument& argument : verb.arguments) {
    const auto take = [&options,
                       name = std::string(argument.name)](const std::string& text) -> Result<void> {
      options.arguments[name] = text;
      return {};
    };
    auto* option =
        added.add_option_function(std::string(argument.name), take, std::string(argument.help));
    option->required(argument.required);
  }
  if (!verb.names.empty()) {
    added.add_option("names", options.more_names, fmt::format("further {}", verb.names));
  }
  for (const VerbFlag& flag : verb.flags) {
    const std::string name(flag.name);
    if (flag.value.empty()) {
      added.add_flag_function(
          "--" + name, [&options, name] { options.flags[name] = ""; }, std::string(flag.help));
    } else {
      added
          .add_option_function(
              "--" + name,
              [&options, name](const std::string& text) -> Result<void> {
                options.flags[name] = text;
                return {};
              },
              std::string(flag.help))
          ->type_name(std::string(flag.value));
    }
  }
  if (verb.lists) {
    add_list_flags(added, options.list,
                   {.since = true, .watch = "print the list again whenever it changes"});
  } else {
    add_output(added, options.list.format.output,
               {Output::Table, Output::Wide, Output::Json, Output::Yaml, Output::Name});
  }
}

std::unique_ptr<flags::Verb> make_app(Parsed& parsed) {
  auto app = std::make_unique<flags::Verb>(
      "athanor shares scarce accelerators on Kubernetes: benchmark jobs, clusters and queues.\n"
      "On a laptop, \"athanor up\" lights a whole lab in one process.",
      "athanor");
  app->require_subcommand(1);
  app->set_version_flag("--version", "athanor " ATHANOR_VERSION);
  add_up(*app, parsed.up);
  add_console(*app, parsed.console);
  add_controllers(*app, parsed.controllers);
  add_extender(*app, parsed.extender);
  add_stand_ins(*app, parsed.envtest, parsed.stand_ins);
  add_submit(*app, parsed.submit);
  add_rerun(*app, parsed.rerun);
  add_describe(*app, parsed.describe);
  add_wait(*app, parsed.wait);
  add_readers(*app, parsed);
  add_templates(*app, parsed.templates);
  add_daily(*app, parsed.daily);
  add_appwrappers(*app, parsed);
  add_cluster_verbs(*app, parsed.cluster_verbs);
  add_locks(*app, parsed.cluster_verbs);

  add_backups(*app, parsed);
  add_images(*app, parsed.images);
  add_simulate(*app, parsed.simulate);

  auto& crds = *app->add_subcommand("crds", "Print the custom resource definitions");
  auto* group = crds.add_option("--group", parsed.crds.group,
                                "one API group (default: that of Fournos and Hearth)");
  crds.add_flag(
          "--all", parsed.crds.all,
          "definitions of every system, with Kueue's and Tekton's: only for clusters without these")
      ->excludes(group);
  crds.add_option("--conversion-service", parsed.crds.conversion_service,
                  "NAMESPACE/NAME of the Service of athanor controllers --webhook-address: it "
                  "converts the versions of Kueue's kinds (default: the API server renames them)");
  crds.add_option("--conversion-url", parsed.crds.conversion_url,
                  "https://HOST:PORT of the conversion webhook, instead of a Service");
  add_output(crds, parsed.crds.output, {Output::Yaml, Output::Json, Output::Name});

  add_rbac(*app, parsed.rbac);
  add_webhooks(*app, parsed.webhooks);
  add_replay(*app, parsed.replay);
  for (SystemVerbOptions& verb : parsed.system_verbs) {
    add_system_verb(*app, verb);
  }
  auto& systems = *app->add_subcommand("systems", "List the systems and what each consists of");
  add_output(systems, parsed.systems.output, {Output::Table, Output::Json, Output::Yaml});
  add_vault(*app, parsed.vault);

  auto& version = *app->add_subcommand("version", "Print the version");
  add_output(version, parsed.version.output, {Output::Table, Output::Json});

  auto& completion = *app->add_subcommand("completion", "Print a shell completion script");
  completion.add_option("shell", parsed.completion.shell, "bash, zsh or fish")
      ->required()
      ->check(flags::one_of({"bash", "zsh", "fish"}));
  completion.footer("  source <(athanor completion bash)");

  auto& man = *app->add_subcommand("man", "Print the manual page of a verb, or write all pages");
  man.add_option("where", parsed.man.where,
                 "a verb: print its page; a folder that exists or has a slash: write all pages");
  man.footer("  athanor man jobs\n  athanor man ~/.local/share/man/man1\n  man athanor-submit");

  app->add_subcommand("help", "Show a verb's flags and examples: athanor help VERB");
  app->footer(kExitCodes);
  return app;
}

std::vector<FlagSummary> flags_of(const flags::Verb& verb) {
  std::vector<FlagSummary> flags;
  for (const flags::Flag* option : verb.get_options()) {
    for (const std::string& name : option->long_names()) {
      flags.push_back({.name = "--" + name,
                       .shown = option->shown(),
                       .value = option->value_text(),
                       .help = option->help(),
                       .choices = option->choices(),
                       .files = option->takes_files()});
    }
  }
  return flags;
}

// A hint at the nearest flag for the first one that the verb does not have.
std::string suggestion(const flags::Verb& app, std::span<const std::string> words) {
  const flags::Verb* verb = words.size() > 1 ? app.find(words[1]) : nullptr;
  if (verb == nullptr) {
    return {};
  }
  std::vector<std::string> known;
  for (const FlagSummary& flag : flags_of(*verb)) {
    known.push_back(flag.name);
  }
  for (std::string word : words.subspan(1)) {
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::ranges::find(known, word) != known.end()) {
      continue;
    }
    if (const std::string near = near_name(word, known); !near.empty()) {
      return fmt::format("did you mean \"{}\"?\n", near);
    }
  }
  return {};
}

// Names the verb that the first word may have meant; nothing where it is a verb, or a flag.
std::optional<Message> refused_verb(const flags::Verb& app, std::span<const std::string> words) {
  if (words.size() < 2 || words[1].starts_with("-")) {
    return std::nullopt;
  }
  std::vector<std::string> known;
  for (const flags::Verb* verb : app.verbs()) {
    known.push_back(verb->get_name());
  }
  if (std::ranges::find(known, words[1]) != known.end()) {
    return std::nullopt;
  }
  const std::string hint = verb_hint(words[1], known);
  return Message{
      fmt::format("athanor: there is no verb \"{}\"\n{}Run \"athanor help\" for usage.\n", words[1],
                  hint.empty() ? "" : fmt::format("did you mean \"{}\"?\n", hint)),
      2};
}

// `queue NAME` and `queue --explain JOB` are what the verb `queues` does.
Command chosen_queue(Parsed& parsed) {
  QueueOptions& queue = parsed.queue;
  if (queue.names.empty() && queue.explain.empty()) {
    return std::move(queue);
  }
  const auto verb = std::ranges::find_if(
      parsed.system_verbs, [](const SystemVerbOptions& one) { return one.verb->name == "queues"; });
  SystemVerbOptions asked{.verb = verb->verb,
                          .target = std::move(queue.target),
                          .all_namespaces = queue.all_namespaces,
                          .list = std::move(queue.list)};
  if (queue.explain.empty()) {
    asked.arguments.emplace("WHAT", queue.names.front());
    asked.more_names.assign(queue.names.begin() + 1, queue.names.end());
  } else {
    asked.arguments.emplace("WHAT", "explain");
    asked.arguments.emplace("NAME", queue.explain);
    asked.more_names = std::move(queue.names);  // an explanation takes none
  }
  return asked;
}

template <auto Member>
Command taken(Parsed& parsed) {
  return std::move(parsed.*Member);
}

// Verbs without verbs of their own.
struct PlainVerb {
  const char* name;
  Command (*take)(Parsed& parsed);
};
constexpr std::array kPlainVerbs = {
    PlainVerb{"up", &taken<&Parsed::up>},
    PlainVerb{"console", &taken<&Parsed::console>},
    PlainVerb{"controllers", &taken<&Parsed::controllers>},
    PlainVerb{"extender", &taken<&Parsed::extender>},
    PlainVerb{"envtest", &taken<&Parsed::envtest>},
    PlainVerb{"submit", &taken<&Parsed::submit>},
    PlainVerb{"rerun", &taken<&Parsed::rerun>},
    PlainVerb{"describe", &taken<&Parsed::describe>},
    PlainVerb{"wait", &taken<&Parsed::wait>},
    PlainVerb{"jobs", &taken<&Parsed::jobs>},
    PlainVerb{"logs", &taken<&Parsed::logs>},
    PlainVerb{"cancel", &taken<&Parsed::cancel>},
    PlainVerb{"backup", &taken<&Parsed::backup>},
    PlainVerb{"simulate", &taken<&Parsed::simulate>},
    PlainVerb{"images", &taken<&Parsed::images>},
    PlainVerb{"restore", &taken<&Parsed::restore>},
    PlainVerb{"crds", &taken<&Parsed::crds>},
    PlainVerb{"rbac", &taken<&Parsed::rbac>},
    PlainVerb{"webhooks", &taken<&Parsed::webhooks>},
    PlainVerb{"replay", &taken<&Parsed::replay>},
    PlainVerb{"systems", &taken<&Parsed::systems>},
    PlainVerb{"version", &taken<&Parsed::version>},
    PlainVerb{"man", &taken<&Parsed::man>},
};

Command chosen(const flags::Verb& app, Parsed& parsed) {
  for (const auto& [verb, take] : kPlainVerbs) {
    if (app.got_subcommand(verb)) {
      return take(parsed);
    }
  }
  if (app.got_subcommand("templates")) {
    return chosen_of_templates(*app.find("templates"), parsed.templates);
  }
  if (auto daily = chosen_of_daily(app, parsed.daily)) {
    return *std::move(daily);
  }
  if (app.got_subcommand("queue")) {
    return chosen_queue(parsed);
  }
  if (const flags::Verb* list = app.find("appwrappers"); list->parsed()) {
    if (list->chosen() == nullptr) {
      return std::move(parsed.appwrappers);
    }
    inherit(parsed.appwrapper_act.target, parsed.appwrappers.target, "");
    return std::move(parsed.appwrapper_act);
  }
  if (const flags::Verb* clusters = app.find("clusters"); clusters->parsed()) {
    return chosen_of_clusters(*clusters, parsed.cluster_verbs);
  }
  if (app.got_subcommand("lock")) {
    return std::move(parsed.cluster_verbs.lock);
  }
  if (app.got_subcommand("unlock")) {
    return std::move(parsed.cluster_verbs.unlock);
  }
  for (SystemVerbOptions& verb : parsed.system_verbs) {
    if (app.got_subcommand(std::string(verb.verb->name))) {
      return std::move(verb);
    }
  }
  if (app.got_subcommand("vault")) {
    return chosen_of_vault(parsed.vault);
  }
  return std::move(parsed.completion);
}

VerbSummary summary_of(const flags::Verb& verb) {
  VerbSummary summary{.name = verb.get_name(),
                      .help = verb.get_description(),
                      .footer = verb.get_footer(),
                      .flags = flags_of(verb)};
  for (const flags::Flag* option : verb.get_options()) {
    if (!option->positional()) {
      continue;
    }
    summary.arguments.push_back({.name = option->shown(),
                                 .shown = option->shown(),
                                 .help = option->help(),
                                 .choices = option->choices(),
                                 .several = option->takes() == flags::Takes::Values,
                                 .files = option->takes_files()});
  }
  for (const flags::Verb* below : verb.verbs()) {
    summary.verbs.push_back(summary_of(*below));
  }
  return summary;
}

// The verb's options, its help, or its refusal.
template <typename Options>
Command stand_in(Result<Options> parsed) {
  if (!parsed.ok()) {
    return Message{fmt::format("Error: {}\n", parsed.error().message), 1};
  }
  return parsed->help.empty() ? Command(*std::move(parsed)) : Command(Message{parsed->help, 0});
}

// A program of Kubernetes that this one is called as, or a verb named so.
std::optional<Command> parse_stand_in(std::vector<std::string> words) {
  if (words.empty()) {
    return std::nullopt;
  }
  const std::string name = words.front().substr(words.front().rfind('/') + 1);
  const auto is = [&](std::string_view program, std::string_view verb) {
    if (name == program) {
      words.erase(words.begin());
      return true;
    }
    if (words.size() > 1 && words[1] == verb) {
      words.erase(words.begin(), words.begin() + 2);
      return true;
    }
    return false;
  };
  if (is("kube-apiserver", "apiserver")) {
    return stand_in(parse_apiserver(words));
  }
  if (is("etcd", "etcd")) {
    return stand_in(parse_etcd(words));
  }
  if (name == "kubectl") {
    return Message{
        "kubectl: there was no kubectl in PATH when \"athanor envtest\" made this link; install "
        "one "
        "and run it again\n",
        1};
  }
  return std::nullopt;
}

}  // namespace

Command parse(int argc, const char* const* argv) {
  const std::vector<std::string> words = plain_words({argv, argv + argc});
  if (auto command = parse_stand_in(words)) {
    return *std::move(command);
  }
  Parsed parsed;
  const auto app = make_app(parsed);
  if (argc <= 1) {
    return Message{app->help(), 2};
  }
  if (auto refused = refused_verb(*app, words)) {
    return *std::move(refused);
  }
  const auto complete = with_config_file(words);
  if (!complete.ok()) {
    return Message{fmt::format("athanor: {}\n", complete.error().message), 2};
  }
  const auto ending = app->parse(std::span(*complete).subspan(1));
  if (!ending.ok()) {
    return Message{fmt::format("athanor: {}\n{}Run \"athanor {}--help\" for usage.\n",
                               ending.error().message, suggestion(*app, words),
                               app->chosen() == nullptr ? "" : app->chosen()->get_name() + " "),
                   2};
  }
  if (ending->kind != flags::Ending::Kind::Run) {
    return Message{ending->text, 0};
  }
  return chosen(*app, parsed);
}

std::vector<VerbSummary> verb_summaries() {
  Parsed parsed;
  const auto app = make_app(parsed);
  std::vector<VerbSummary> verbs;
  for (const flags::Verb* verb : app->verbs()) {
    verbs.push_back(summary_of(*verb));
  }
  return verbs;
}

std::string_view about_program() {
  return kExitCodes;
}

}  // namespace athanor::cli
