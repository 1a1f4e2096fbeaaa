// SPDX-License-Identifier: Apache-2.0
// The table of verbs and flags, given to CLI11 (this file alone includes it: it is dear to
// compile).
#include "cli/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/near_name.hpp"
#include "cli/flags/cluster_flags.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "cli/flags/vault_flags.hpp"
#include "cli/verb_words.hpp"
#include "systems/list.hpp"

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
    R"(Flags that say which API server is meant and as whom may stand before the verb, too:
--kubeconfig, --context, -n, -s, --certificate-authority, --insecure-skip-tls-verify, --token, --as,
--as-group, -v.

Exit codes:
  0    done (submit --follow: the job Succeeded)
  1    failed, refused or not found; stderr says why
  2    wrong usage: an unknown verb or flag, a missing or impossible value
  3    the outcome is unknown: the API server went away while a job was followed; the job goes on
  130  Ctrl-C while something was followed or watched; the job goes on)";

struct Parsed {
  UpOptions up{};
  ControllersOptions controllers{};
  ExtenderOptions extender{};
  EnvtestOptions envtest{};
  SubmitOptions submit{};
  JobsOptions jobs{};
  LogsOptions logs{};
  CancelOptions cancel{};
  QueueOptions queue{};
  AppWrappersOptions appwrappers{};
  AppWrapperActOptions appwrapper_act{};
  ClusterVerbs cluster_verbs{};
  BackupOptions backup{};
  RestoreOptions restore{};
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

// kube-apiserver's flags of the same names.
void add_serving(CLI::App& verb, UpOptions& options) {
  lab::AuditOptions& audit = options.serving.audit;
  verb.add_option("--audit-policy-file", audit.policy_file,
                  "which requests are written to the audit log, and how much of them");
  verb.add_option("--audit-log-path", audit.log_path, "the audit log; - is stdout");
  verb.add_option("--audit-log-maxsize", audit.max_size,
                  "MiB of the audit log before a new one is begun (0: 100)");
  verb.add_option("--audit-log-maxbackup", audit.max_backup,
                  "how many older audit logs are kept (0: all)");
  verb.add_option("--audit-log-maxage", audit.max_age,
                  "how many days older audit logs are kept (0: always)");
  verb.add_option("--max-requests-inflight", options.serving.max_requests_inflight,
                  "reads under way at a time; more wait a second, then 429")
      ->capture_default_str();
  verb.add_option("--max-mutating-requests-inflight",
                  options.serving.max_mutating_requests_inflight,
                  "writes under way at a time; more wait a second, then 429")
      ->capture_default_str();
  verb.add_option("--max-connections-per-address", options.serving.max_connections_per_address,
                  "connections of one client address; further ones take the place of those that "
                  "rest")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--encryption-provider-config", options.serving.encryption_config,
                  "which objects are kept encrypted on the disk, and the keys");
  verb.add_option("--request-timeout", options.request_timeout,
                  "how long a request may take that is no watch")
      ->capture_default_str();
}

void add_up(CLI::App& app, UpOptions& options) {
  auto& verb = *app.add_subcommand(
      "up", "Light the lab: the whole control plane and its nodes in this process");
  verb.footer(
      "Prints the kubeconfig's path, the API address and what to type next; runs until SIGINT or "
      "SIGTERM.\n\n"
      "  athanor up --data ~/lab &\n"
      "  export KUBECONFIG=~/lab/admin.kubeconfig\n"
      "  kubectl get fournosjobs -A");
  verb.add_option("--data", options.data,
                  "folder of the lab's state (default: $XDG_STATE_HOME/athanor)")
      ->envname("ATHANOR_DATA");
  verb.add_option("--port", options.port, "port of the API server; 0 picks a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  verb.add_option("--storage", options.storage, "disk, or memory: nothing survives the process")
      ->check(CLI::IsMember({"disk", "memory"}))
      ->capture_default_str();
  verb.add_option("--lab", options.lab,
                  "lab file: nodes, clusters, queues, manifests (default: the built-in lab)");
  verb.add_option("--pods", options.pods,
                  "process: run commands; timed: finish in due time without running anything")
      ->check(CLI::IsMember({"process", "timed"}))
      ->capture_default_str();
  verb.add_option("--pod-isolation", options.pod_isolation,
                  "on: with --pods process, commands run without new privileges, behind a filter "
                  "of system calls, in a PID namespace, without the data folder in view, where the "
                  "kernel allows; off: debuggers and mounts work in them")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  verb.add_option("--controllers", options.controllers,
                  "which controllers run: *, name, -name, comma-separated; empty: none; external: "
                  "all but those of kube-controller-manager and kube-scheduler")
      ->capture_default_str();
  verb.add_option("--history-max-bytes", options.history_max_bytes,
                  "how much history the disk keeps for watches; KiB, MiB, GiB may follow")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256MiB");
  add_serving(verb, options);
  verb.add_flag("--proxy-named-endpoints", options.serving.proxy_named_endpoints,
                "services/NAME/proxy goes where a Service's annotation athanor.dev/endpoint or its "
                "externalName says: whoever may edit Services reaches every port of this machine");
  add_settings(verb, options.settings);
  verb.add_flag(
      "--emulate-cluster-policy", options.emulate_cluster_policy,
      "serve a ready ClusterPolicy of NVIDIA's GPU operator, for agents that wait for it");
  verb.add_option("--allocation-api", options.allocation_api,
                  "what hands out emulated GPUs: device plugins, DRA, or each some of them")
      ->check(CLI::IsMember({"deviceplugin", "dra", "both"}));
  verb.add_flag("--unsafe-no-sync", options.unsafe_no_sync,
                "do not wait for the disk: what a crash of the machine loses is lost");
  verb.add_flag(
      "--repair", options.repair,
      "salvage what is readable of damaged data into a new database, naming what is lost");
  verb.add_option("-v,--verbosity", options.verbosity, "0 errors, 1 warnings, 2 info, 4 debug")
      ->capture_default_str();
}

void add_backups(CLI::App& app, Parsed& parsed) {
  auto& backup = *app.add_subcommand("backup", "Copy a lab's state into one file, while it runs");
  backup.add_option("file", parsed.backup.file, "the file to write; replaced when complete")
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

// The flags of the first two are parsed elsewhere, as Kubernetes' programs parse them.
void add_stand_ins(CLI::App& app, EnvtestOptions& envtest) {
  app.add_subcommand("apiserver", "The API server alone, with kube-apiserver's flags");
  app.add_subcommand("etcd", "What test suites start beside kube-apiserver; stores nothing");
  auto& verb = *app.add_subcommand(
      "envtest",
      "Put kube-apiserver, etcd and kubectl where a controller-runtime suite finds them");
  verb.footer(
      "  eval $(athanor envtest ~/envtest)\n"
      "  go test ./...\n\n"
      "The executables are links to this program; kubectl is a link to that of PATH.");
  verb.add_option("directory", envtest.directory, "the folder; made when missing")->required();
}

void add_submit(CLI::App& app, SubmitOptions& options) {
  auto& verb = *app.add_subcommand("submit", "Submit a benchmark job, from flags or from a file");
  verb.footer(
      "  athanor submit --cluster cluster-2 --gpu a100:2 --project llmd --arg cks --follow\n"
      "  athanor submit -f job.yaml --follow\n\n"
      "Stays for a second: a job that fails at once is reported with its reason and exit code 1.\n"
      "With --follow the exit code is 0 only if the job Succeeded, and 3 when the API server went\n"
      "away before its end was known: the job goes on.");
  add_target(verb, options.target);
  auto* file = verb.add_option("-f,--file", options.file,
                               "FournosJob manifest, YAML or JSON; - reads standard input");
  const auto flag = [&](auto* option) { option->excludes(file); };
  flag(verb.add_option("--name", options.name,
                       "name of the job (default: made from the project's)"));
  flag(verb.add_option("--owner", options.owner, "team or person (default: $USER)"));
  flag(verb.add_option("--display-name", options.display_name, "label for people"));
  flag(verb.add_option("--pipeline", options.pipeline, "Tekton Pipeline to run"));
  flag(verb.add_option("--cluster", options.cluster, "pin the job to this cluster"));
  flag(verb.add_option("--gpu", options.gpu, "GPUs, as TYPE:COUNT")->type_name("TYPE:COUNT"));
  flag(verb.add_option("--project", options.project, "forge project"));
  flag(verb.add_option("--arg", options.args, "forge argument; repeatable"));
  flag(verb.add_option("--config", options.config,
                       "forge config override, as PATH=VALUE; repeatable")
           ->type_name("PATH=VALUE"));
  flag(verb.add_option("--env", options.env, "environment variable, as NAME=VALUE; repeatable")
           ->type_name("NAME=VALUE"));
  flag(verb.add_option("--secret-ref", options.secret_refs,
                       "Secret handed to the pipeline; repeatable"));
  flag(verb.add_option("--priority", options.priority, "WorkloadPriorityClass"));
  flag(verb.add_flag("--exclusive", options.exclusive, "take the whole cluster (needs --cluster)"));
  verb.add_flag("--follow", options.follow,
                "stay and show phases, queue position, steps and their logs");
  verb.add_flag(
      "--dry-run", options.dry_run,
      "have the server check the job, and look for what would stop it, without storing it");
  add_output(verb, options.output);
}

void add_readers(CLI::App& app, Parsed& parsed) {
  auto& jobs =
      *app.add_subcommand("jobs", "List jobs, or show one with everything that belongs to it");
  add_target(jobs, parsed.jobs.target);
  jobs.add_option("name", parsed.jobs.name, "one job");
  jobs.add_flag("-A,--all-namespaces", parsed.jobs.all_namespaces, "jobs of every namespace");
  jobs.add_flag("-w,--watch", parsed.jobs.watch, "go on printing changes");
  add_output(jobs, parsed.jobs.output,
             {Output::Table, Output::Wide, Output::Json, Output::Yaml, Output::Name});

  auto& logs = *app.add_subcommand("logs", "Print the logs of a job's steps");
  add_target(logs, parsed.logs.target);
  logs.add_option("name", parsed.logs.name, "the job")->required();
  logs.add_flag("-f,--follow", parsed.logs.follow, "go on until the job is over");
  logs.add_option("--task", parsed.logs.task, "this pipeline task alone");

  auto& cancel = *app.add_subcommand("cancel", "Stop jobs");
  add_target(cancel, parsed.cancel.target);
  cancel.add_option("names", parsed.cancel.names, "the jobs")->required();
  cancel.add_flag("--terminate", parsed.cancel.terminate, "skip the pipeline's finally tasks");

  auto& queue = *app.add_subcommand("queue", "Who waits for what, and why");
  add_target(queue, parsed.queue.target);
  queue.add_option("name", parsed.queue.name, "a queue or cohort: its quota and use");
  queue
      .add_option("--explain", parsed.queue.explain,
                  "why this job waits, who is ahead of it, whom it would preempt")
      ->type_name("JOB");
  queue.add_flag("-A,--all-namespaces", parsed.queue.all_namespaces,
                 "workloads of every namespace");
  queue
      .add_flag("-w,--watch", parsed.queue.watch,
                "go on printing who moves, is admitted, or waits for another reason")
      ->excludes("--explain")
      ->excludes("name");
  add_output(queue, parsed.queue.output,
             {Output::Table, Output::Wide, Output::Json, Output::Yaml, Output::Name});
}

void add_appwrappers(CLI::App& app, Parsed& parsed) {
  auto& list = *app.add_subcommand("appwrappers", "List AppWrappers, or show one as a tree");
  list.footer(
      "  athanor appwrappers -A\n"
      "  athanor appwrappers sample\n"
      "  athanor appwrappers retry sample");
  list.require_subcommand(0, 1);
  add_target(list, parsed.appwrappers.target);
  list.add_option("name", parsed.appwrappers.name, "one AppWrapper, with objects, pods and timers");
  list.add_flag("-A,--all-namespaces", parsed.appwrappers.all_namespaces,
                "AppWrappers of every namespace");
  add_output(list, parsed.appwrappers.output,
             {Output::Table, Output::Wide, Output::Json, Output::Yaml, Output::Name});
  const std::tuple<const char*, const char*, AppWrapperVerb> verbs[] = {
      {"retry", "Queue a failed AppWrapper again", AppWrapperVerb::Retry},
      {"suspend", "Remove the objects, give the quota back and wait", AppWrapperVerb::Suspend},
      {"resume", "Queue a suspended AppWrapper again", AppWrapperVerb::Resume}};
  for (const auto& [name, help, verb] : verbs) {
    auto& act = *list.add_subcommand(name, help);
    add_target(act, parsed.appwrapper_act.target);
    act.add_option("name", parsed.appwrapper_act.name, "the AppWrapper")->required();
    act.callback([&parsed, chosen_verb = verb] { parsed.appwrapper_act.verb = chosen_verb; });
  }
}

void add_rbac(CLI::App& app, RbacOptions& options) {
  auto& rbac = *app.add_subcommand(
      "rbac", "Print the roles that the controllers need: the least, from what they declare");
  rbac.add_option("--controllers", options.controllers,
                  "systems (fournos, kueue, tekton, nodes) and controllers, as for athanor "
                  "controllers; * is all systems");
  rbac.add_option("-n,--namespace", options.namespaces,
                  "where they work; may be repeated (default: as FOURNOS_* and HEARTH_* say when "
                  "FOURNOS_WORKLOAD_NAMESPACE (or FOURNOS_NAMESPACE) is set, each with what is "
                  "done there; else the whole "
                  "cluster)")
      ->delimiter(',');
  rbac.add_option("--install-namespace", options.install_namespace, "where they run");
  rbac.add_option("--name", options.name, "of the service account, the roles and the bindings");
  rbac.add_option("--leader-elect", options.leader_elect, "they elect a leader");
  rbac.add_option("--leader-elect-resource-name", options.lease, "the Lease's name");
  rbac.add_flag("--webhooks", options.webhooks, "they serve webhooks");
  rbac.add_option("--webhook-secret", options.webhook_secret, "the serving certificate's Secret");
  rbac.add_option("--webhook-crd", options.webhook_crds,
                  "custom resource definition whose conversion webhook they serve; may be repeated")
      ->delimiter(',');
  add_output(rbac, options.output, {Output::Yaml, Output::Json, Output::Name});
}

void add_simulate(CLI::App& app, SimulateOptions& options) {
  auto& verb = *app.add_subcommand(
      "simulate", "How long would these jobs wait on this fleet? Weeks in seconds, nothing runs");
  verb.footer(
      "  athanor simulate --generate --jobs 2000 --days 28 > trace.csv\n"
      "  athanor simulate trace.csv --fleet lab.yaml\n"
      "  athanor simulate trace.csv --fleet lab.yaml --what-if bigger.yaml --html report.html\n"
      "  athanor simulate --slices small --nodes 8 --gpus 8\n\n"
      "The same controllers as in the lab, in virtual time. docs/simulate.md tells the formats.");
  verb.add_option("trace", options.trace, "who submits what when: CSV, or YAML");
  verb.add_option("--fleet", options.fleet, "lab file: clusters with quotas, priority classes");
  verb.add_option("--what-if", options.what_if, "a second fleet, shown beside the first");
  verb.add_option("--html", options.html, "write a page with charts to this file");
  verb.add_option("--seed", options.seed, "of names and synthetic traces")->capture_default_str();
  verb.add_flag("--generate", options.generate, "print a synthetic trace as CSV and stop");
  verb.add_option("--jobs", options.jobs, "with --generate: how many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--days", options.days, "with --generate: over how many days")
      ->check(CLI::Range(1, 366))
      ->capture_default_str();
  verb.add_option("--slices", options.slices,
                  "play requests for GPU slices with every placement policy: uniform, small, no7, "
                  "or a file in CSV")
      ->type_name("MIX|FILE");
  verb.add_option("--model", options.model, "with --slices: model of the GPUs (A100-PCIE-40GB)");
  verb.add_option("--nodes", options.nodes, "with --slices: how many nodes (8)")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--gpus", options.gpus, "with --slices: GPUs of each node (8)")
      ->check(CLI::Range(1, 16));
  verb.add_option("--requests", options.requests, "with a mix: how many requests (8000)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--load", options.load, "with a mix: requested share of all slots (0.95)")
      ->check(CLI::Range(0.01, 10.0));
  add_output(verb, options.output, {Output::Table, Output::Json});
}

void add_webhooks(CLI::App& app, WebhooksOptions& options) {
  auto& webhooks = *app.add_subcommand(
      "webhooks", "Print the Service and the configurations that register the webhooks");
  webhooks.add_option("--controllers", options.controllers,
                      "systems (fournos, hearth, kueue, tekton) and controllers, as for athanor "
                      "controllers");
  webhooks.add_option("--install-namespace", options.install_namespace, "where they run");
  webhooks.add_option("--name", options.name, "of the configurations, and the pods' label");
  webhooks.add_option("--service", options.service, "the Service's name");
  webhooks.add_option("--url", options.url,
                      "https://HOST:PORT where the API server reaches them, instead of a Service");
  add_output(webhooks, options.output, {Output::Yaml, Output::Json, Output::Name});
}

void add_replay(CLI::App& app, ReplayOptions& options) {
  auto& replay = *app.add_subcommand(
      "replay",
      "Feed a record (athanor controllers --record) to this program's controllers and "
      "show what they decide; exit code 1 where they decide otherwise than recorded");
  replay.add_option("file", options.file, "the record")->required()->type_name("FILE");
  replay.add_option("--until", options.until, "stop after so many lines (default: all)");
  replay.add_option("--controller", options.controller, "show the plans of one controller alone");
  replay.add_flag("--differences", options.differences, "show differences alone");
  add_output(replay, options.output, {Output::Table, Output::Json});
}

void add_system_verb(CLI::App& app, SystemVerbOptions& options) {
  const Verb& verb = *options.verb;
  auto& added = *app.add_subcommand(std::string(verb.name), std::string(verb.summary));
  added.footer(std::string(verb.footer));
  add_target(added, options.target);
  options.target.ns = verb.default_ns;
  if (verb.namespaced) {
    added.add_flag("-A,--all-namespaces", options.all_namespaces, "in every namespace");
  }
  for (const VerbArgument& argument : verb.arguments) {
    const auto take = [&options, name = std::string(argument.name)](const std::string& text) {
      options.arguments[name] = text;
    };
    auto* option = added.add_option_function<std::string>(std::string(argument.name), take,
                                                          std::string(argument.help));
    option->required(argument.required);
  }
  for (const VerbFlag& flag : verb.flags) {
    const std::string name(flag.name);
    if (flag.value.empty()) {
      added.add_flag_function(
          "--" + name, [&options, name](std::int64_t) { options.flags[name] = ""; },
          std::string(flag.help));
    } else {
      added
          .add_option_function<std::string>(
              "--" + name,
              [&options, name](const std::string& text) { options.flags[name] = text; },
              std::string(flag.help))
          ->type_name(std::string(flag.value));
    }
  }
  add_output(added, options.output,
             {Output::Table, Output::Wide, Output::Json, Output::Yaml, Output::Name});
}

std::unique_ptr<CLI::App> make_app(Parsed& parsed) {
  auto app = std::make_unique<CLI::App>(
      "athanor shares scarce accelerators on Kubernetes: benchmark jobs, clusters and queues.\n"
      "On a laptop, \"athanor up\" lights a whole lab in one process.",
      "athanor");
  app->require_subcommand(1);
  app->set_version_flag("--version", "athanor " ATHANOR_VERSION);
  add_up(*app, parsed.up);
  add_controllers(*app, parsed.controllers);
  add_extender(*app, parsed.extender);
  add_stand_ins(*app, parsed.envtest);
  add_submit(*app, parsed.submit);
  add_readers(*app, parsed);
  add_appwrappers(*app, parsed);
  add_cluster_verbs(*app, parsed.cluster_verbs);
  add_locks(*app, parsed.cluster_verbs);

  add_backups(*app, parsed);
  add_simulate(*app, parsed.simulate);

  auto& crds = *app->add_subcommand("crds", "Print the custom resource definitions");
  auto* group = crds.add_option("--group", parsed.crds.group,
                                "one API group (default: that of Fournos and Hearth)");
  crds.add_flag("--all", parsed.crds.all,
                "those of every system, also Kueue's and Tekton's: never beside their owners")
      ->excludes(group);
  crds.add_option("--conversion-service", parsed.crds.conversion_service,
                  "NAMESPACE/NAME of the Service of athanor controllers --webhook-address: it "
                  "converts the versions of Kueue's kinds (default: the API server renames them)");
  crds.add_option("--conversion-url", parsed.crds.conversion_url,
                  "https://HOST:PORT where it does, instead of a Service");
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
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.footer("  source <(athanor completion bash)");

  auto& man = *app->add_subcommand("man", "Write the manual pages into a folder");
  man.add_option("directory", parsed.man.directory, "the folder; made when missing")->required();
  man.footer("  athanor man ~/.local/share/man/man1\n  man athanor-submit");

  app->add_subcommand("help", "Show a verb's flags and examples: athanor help VERB");
  app->footer(kExitCodes);
  return app;
}

// CLI11 appends the name of a check: "FILE:FILE".
std::string value_of(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const std::size_t half = name.find(':');
  const bool twice = half != std::string::npos && name.substr(0, half) == name.substr(half + 1);
  return twice ? name.substr(0, half) : name;
}

// Those of the stand-ins come from their own tables, which are worded as Kubernetes' are.
std::vector<FlagSummary> flags_of(const CLI::App& verb) {
  std::vector<FlagSummary> flags;
  const auto table = verb.get_name() == "apiserver" ? apiserver_flags()
                     : verb.get_name() == "etcd"    ? etcd_flags()
                                                    : std::span<const FlagSpec>();
  for (const FlagSpec& flag : table) {
    const std::string name = fmt::format("--{}", flag.name);
    flags.push_back({.name = name,
                     .shown = name,
                     .value = std::string(type_name(flag.type)),
                     .help = std::string(flag.help)});
  }
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back({.name = "--" + name,
                       .shown = option->get_name(false, true),
                       .value = value_of(*option),
                       .help = option->get_description()});
    }
  }
  return flags;
}

// A hint at the nearest flag for the first one that the verb does not have.
std::string suggestion(const CLI::App& app, std::span<const std::string> words) {
  const auto verbs = app.get_subcommands({});
  const auto verb = std::ranges::find_if(verbs, [&](const CLI::App* candidate) {
    return words.size() > 1 && candidate->get_name() == words[1];
  });
  if (verb == verbs.end()) {
    return {};
  }
  std::vector<std::string> known;
  for (const FlagSummary& flag : flags_of(**verb)) {
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
std::optional<Message> refused_verb(const CLI::App& app, std::span<const std::string> words) {
  if (words.size() < 2 || words[1].starts_with("-")) {
    return std::nullopt;
  }
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands({})) {
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
  if (queue.name.empty() && queue.explain.empty()) {
    return std::move(queue);
  }
  const auto verb = std::ranges::find_if(
      parsed.system_verbs, [](const SystemVerbOptions& one) { return one.verb->name == "queues"; });
  SystemVerbOptions asked{.verb = verb->verb,
                          .target = std::move(queue.target),
                          .all_namespaces = queue.all_namespaces,
                          .output = queue.output};
  asked.arguments.emplace("WHAT", queue.explain.empty() ? queue.name : "explain");
  if (!queue.explain.empty()) {
    asked.arguments.emplace("NAME", queue.explain);
  }
  return asked;
}

Command chosen(const CLI::App& app, Parsed& parsed) {
  if (app.got_subcommand("up")) {
    return std::move(parsed.up);
  }
  if (app.got_subcommand("controllers")) {
    return std::move(parsed.controllers);
  }
  if (app.got_subcommand("extender")) {
    return std::move(parsed.extender);
  }
  if (app.got_subcommand("envtest")) {
    return std::move(parsed.envtest);
  }
  if (app.got_subcommand("submit")) {
    return std::move(parsed.submit);
  }
  if (app.got_subcommand("jobs")) {
    return std::move(parsed.jobs);
  }
  if (app.got_subcommand("logs")) {
    return std::move(parsed.logs);
  }
  if (app.got_subcommand("cancel")) {
    return std::move(parsed.cancel);
  }
  if (app.got_subcommand("queue")) {
    return chosen_queue(parsed);
  }
  if (const CLI::App* list = app.get_subcommand("appwrappers"); list->parsed()) {
    if (list->get_subcommands().empty()) {
      return std::move(parsed.appwrappers);
    }
    inherit(parsed.appwrapper_act.target, parsed.appwrappers.target, "");
    return std::move(parsed.appwrapper_act);
  }
  if (const CLI::App* clusters = app.get_subcommand("clusters"); clusters->parsed()) {
    return chosen_of_clusters(*clusters, parsed.cluster_verbs);
  }
  if (app.got_subcommand("lock")) {
    return std::move(parsed.cluster_verbs.lock);
  }
  if (app.got_subcommand("unlock")) {
    return std::move(parsed.cluster_verbs.unlock);
  }
  if (app.got_subcommand("backup")) {
    return std::move(parsed.backup);
  }
  if (app.got_subcommand("simulate")) {
    return std::move(parsed.simulate);
  }
  if (app.got_subcommand("restore")) {
    return std::move(parsed.restore);
  }
  if (app.got_subcommand("crds")) {
    return parsed.crds;
  }
  if (app.got_subcommand("rbac")) {
    return std::move(parsed.rbac);
  }
  if (app.got_subcommand("webhooks")) {
    return std::move(parsed.webhooks);
  }
  if (app.got_subcommand("replay")) {
    return std::move(parsed.replay);
  }
  if (app.got_subcommand("systems")) {
    return parsed.systems;
  }
  for (SystemVerbOptions& verb : parsed.system_verbs) {
    if (app.got_subcommand(std::string(verb.verb->name))) {
      return std::move(verb);
    }
  }
  if (app.got_subcommand("vault")) {
    return chosen_of_vault(parsed.vault);
  }
  if (app.got_subcommand("version")) {
    return parsed.version;
  }
  if (app.got_subcommand("man")) {
    return std::move(parsed.man);
  }
  return std::move(parsed.completion);
}

VerbSummary summary_of(const CLI::App& verb) {
  VerbSummary summary{.name = verb.get_name(),
                      .help = verb.get_description(),
                      .footer = verb.get_footer(),
                      .flags = flags_of(verb)};
  for (const CLI::Option* option : verb.get_options()) {
    if (option->nonpositional()) {
      continue;
    }
    summary.arguments.push_back({.name = option->get_name(),
                                 .shown = option->get_name(),
                                 .help = option->get_description()});
  }
  for (const CLI::App* below : verb.get_subcommands({})) {
    summary.verbs.push_back(summary_of(*below));
  }
  return summary;
}

// The verb's options, its help, or its refusal.
template <typename Options>
Command stand_in(Result<Options> parsed, std::string (*help)()) {
  if (!parsed.ok()) {
    return Message{fmt::format("Error: {}\n", parsed.error().message), 1};
  }
  return parsed->help ? Command(Message{help(), 0}) : Command(*std::move(parsed));
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
    return stand_in(parse_apiserver(words), apiserver_help);
  }
  if (is("etcd", "etcd")) {
    return stand_in(parse_etcd(words), etcd_help);
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
  // CLI11 reports by exception; none leaves this function.
  try {
    auto complete = with_config_file(words);
    if (!complete.ok()) {
      return Message{fmt::format("athanor: {}\n", complete.error().message), 2};
    }
    // In reverse, without the program's name: as CLI11 takes a vector.
    std::vector<std::string> reversed(complete->rbegin(), complete->rend() - 1);
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return Message{app->help(), 0};
  } catch (const CLI::CallForVersion&) {
    return Message{"athanor " ATHANOR_VERSION "\n", 0};
  } catch (const CLI::ParseError& error) {
    return Message{
        fmt::format(
            "athanor: {}\n{}Run \"athanor {}--help\" for usage.\n", error.what(),
            suggestion(*app, words),
            app->get_subcommands().empty() ? "" : app->get_subcommands().front()->get_name() + " "),
        2};
  }
  return chosen(*app, parsed);
}

std::vector<VerbSummary> verb_summaries() {
  Parsed parsed;
  const auto app = make_app(parsed);
  std::vector<VerbSummary> verbs;
  for (const CLI::App* verb : app->get_subcommands({})) {
    verbs.push_back(summary_of(*verb));
  }
  return verbs;
}

std::string_view about_program() {
  return kExitCodes;
}

}  // namespace athanor::cli
