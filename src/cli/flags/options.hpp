// SPDX-License-Identifier: Apache-2.0
// What the command line asks for: one struct per verb, filled by parse() from one table of flags.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "cli/flags/controllers_flags.hpp"
#include "cli/flags/daily_options.hpp"
#include "cli/flags/extender_flags.hpp"
#include "cli/flags/job_options.hpp"
#include "cli/output/list_options.hpp"
#include "cli/stand_ins/apiserver_flags.hpp"
#include "cli/stand_ins/etcd_flags.hpp"
#include "embedded/lab/serving/serving_options.hpp"
#include "runtime/view/verb.hpp"

namespace athanor::cli {

// Options of `athanor up`.
struct UpOptions {
  std::string data{};  // empty: a folder under the user's state directory
  int port = 6443;
  std::string storage = "disk";
  std::string lab{};  // empty: that of the data folder, or the built-in lab
  bool merge_lab = false;
  std::string pods = "auto";
  std::string pod_isolation = "on";
  bool pod_home = false;
  std::string controllers = "*";
  bool unsafe_no_sync = false;
  bool emulate_cluster_policy = false;
  std::string allocation_api{};  // empty: as the settings say
  bool repair = false;
  lab::ServingOptions serving{};
  std::string request_timeout = "60s";
  std::uint64_t history_max_bytes = std::uint64_t{256} << 20;
  std::vector<std::string> settings{};  // NAME=VALUE, over the environment's
  std::vector<std::string> users{};     // NAME or NAME:ROLE
  std::string console = "0";            // the console's port; "off": none
  int verbosity = 2;
};

// Options of `athanor console`.
struct ConsoleOptions {
  Target target{};
  std::string address{};  // empty: as the environment says
  std::string data{};     // empty: nothing is kept
  std::string web{};      // empty: the program's pages
  bool read_only = false;
};

// Options of `athanor envtest`.
struct EnvtestOptions {
  std::string directory{};
};

// Options of `athanor appwrappers`.
struct AppWrappersOptions {
  Target target{};
  bool all_namespaces = false;
  ListOptions list{};
};

// Options of `athanor appwrappers retry`, `suspend` and `resume`.
enum class AppWrapperVerb : std::uint8_t { Retry, Suspend, Resume };
struct AppWrapperActOptions {
  Target target{};
  std::string name{};
  AppWrapperVerb verb = AppWrapperVerb::Retry;
};

// In Hearth's verbs the target's namespace is that of the FournosClusters.
struct ClustersOptions {
  Target target{};
  ListOptions list{};
};

// Options of `athanor clusters add`.
struct ClusterAddOptions {
  Target target{};
  std::string name{};
  std::string kubeconfig{};  // of the new cluster; empty: its Secret is there already
  std::string secrets_namespace = "psap-secrets";
  std::string owner{};
  std::string lock_time{};
  bool replace = false;
  bool no_check = false;  // the kubeconfig goes as it is
  bool wait = false;
  int timeout = 60;  // seconds
};

// Options of `athanor clusters check`; the timeout in seconds.
struct ClusterCheckOptions {
  Target target{};
  std::string name{};
  int timeout = 60;
};

// Options of `athanor clusters remove`; the timeout in seconds.
struct ClusterRemoveOptions {
  Target target{};
  std::string name{};
  std::string policy{};  // Drain, Force, Retain
  bool delete_kubeconfig = false;
  std::string owner{};  // who asks; empty: $USER
  bool take_over = false;
  bool wait = false;
  int timeout = 600;
};

// Options of `athanor clusters cordon`, `uncordon` and `drain`; the timeout in seconds.
enum class ClusterCordonVerb : std::uint8_t { Cordon, Uncordon, Drain };
struct ClusterCordonOptions {
  Target target{};
  std::string name{};
  ClusterCordonVerb verb = ClusterCordonVerb::Cordon;
  bool cancel = false;  // drain: stop the jobs
  int timeout = 3600;
};

// Options of `athanor lock`; the timeout in seconds.
struct LockOptions {
  Target target{};
  std::string name{};
  std::string owner{};
  std::string lock_time{};  // empty: until it is unlocked
  bool take_over = false;
  bool wait = false;
  int timeout = 600;
};

// Options of `athanor unlock`.
struct UnlockOptions {
  Target target{};
  std::string name{};
  std::string owner{};  // who asks; empty: $USER
  bool take_over = false;
};

// Options of `athanor backup`.
struct BackupOptions {
  std::string file{};
  std::string data{};  // empty: as for up
};

// Options of `athanor images`.
struct ImagesOptions {
  std::string source{};  // empty: list
  std::string name{};
  std::string remove{};
  std::string data{};  // empty: as for up
  Output output = Output::Table;
};

// Options of `athanor restore`.
struct RestoreOptions {
  std::string file{};
  std::string data{};
};

// Options of `athanor simulate`.
struct SimulateOptions {
  std::string trace{};
  std::string fleet{};
  std::string what_if{};  // a second fleet beside the first
  std::string html{};     // file to write; empty: none
  Output output = Output::Table;
  std::uint64_t seed = 1;
  bool generate = false;  // print a synthetic trace instead
  std::int64_t jobs = 1000;
  std::int64_t days = 7;
  // Slice requests instead of jobs: a standard mix, or a file; empty: jobs.
  std::string slices{};
  std::optional<std::string> model{};  // of the GPUs; of each node: `gpus`
  std::optional<std::int64_t> nodes{};
  std::optional<std::int64_t> gpus{};
  std::optional<std::int64_t> requests{};  // of a mix
  std::optional<double> load{};            // likewise: requested share of all slots
};

// Options of `athanor crds`.
struct CrdsOptions {
  Output output = Output::Yaml;
  std::string group{};
  bool all = false;
  std::string conversion_service{};  // NAMESPACE/NAME
  std::string conversion_url{};
};

// Options of `athanor rbac`.
struct RbacOptions {
  std::string controllers = "*";
  std::vector<std::string> namespaces{};  // empty: the whole cluster
  std::string install_namespace = "athanor-system";
  std::string name = "athanor";
  bool leader_elect = true;
  std::string lease{};  // empty: lease_of() the operators
  bool webhooks = false;
  std::string webhook_secret = "athanor-webhook-certificates";
  std::vector<std::string> webhook_crds{};
  bool people = false;   // the roles of people instead
  bool console = false;  // the rights of `athanor console` instead
  Output output = Output::Yaml;
};

// Options of `athanor webhooks`.
struct WebhooksOptions {
  std::string controllers = "*";
  std::string install_namespace = "athanor-system";
  std::string name = "athanor";
  std::string service = "athanor-webhooks";
  std::string url{};
  Output output = Output::Yaml;
};

// Options of `athanor replay`.
struct ReplayOptions {
  std::string file{};
  std::size_t until = 0;  // lines; 0: all
  std::string controller{};
  bool differences = false;
  Output output = Output::Table;
};

// Options of `athanor systems`.
struct SystemsOptions {
  Output output = Output::Table;
};

// A verb that a system brings (runtime/view/verb.hpp).
struct SystemVerbOptions {
  const Verb* verb = nullptr;
  Target target{};
  bool all_namespaces = false;
  ListOptions list{};                                       // without names, phases and owners
  std::map<std::string, std::string, std::less<>> flags{};  // those given
  std::map<std::string, std::string, std::less<>> arguments{};
  std::vector<std::string> more_names{};  // of a list, behind the arguments
};

// Options of `athanor vault sync`.
struct VaultSyncOptions {
  Target target{};
  std::string address{};
  std::string mount = "kv";
  std::string path{};
  std::string files{};  // folder with entries instead of a Vault
  bool dry_run = false;
};

// Options of `athanor version`.
struct VersionOptions {
  Output output = Output::Table;
};

// Options of `athanor completion`.
struct CompletionOptions {
  std::string shell{};
};

// Options of `athanor man`.
struct ManOptions {
  std::string where{};  // a verb or a folder; empty: the program's page
};

// The program's exit codes besides 0 (done), 1 (failed or refused) and 2 (wrong usage).
inline constexpr int kOutcomeUnknown = 3;  // the server went away; the job goes on
inline constexpr int kInterrupted = 130;   // Ctrl-C while a job was followed; it goes on

// Text to print and leave with this exit code: --help (0), a usage error (2; 1 where a program of
// Kubernetes is stood in for).
struct Message {
  std::string text{};
  int exit_code = 0;
};

using Command = std::variant<
    Message, UpOptions, ConsoleOptions, ControllersOptions, ExtenderOptions, ApiServerOptions,
    EtcdOptions, EnvtestOptions, SubmitOptions, DescribeOptions, WaitOptions, JobsOptions,
    LogsOptions, CancelOptions, QueueOptions, AppWrappersOptions, TemplatesOptions,
    TemplateSaveOptions, TemplateDeleteOptions, ResultsOptions, CompareOptions, SchedulesOptions,
    ScheduleCreateOptions, ScheduleActOptions, ScheduleNextOptions, LabsOptions, LabActOptions,
    EventsOptions, TopOptions, AppWrapperActOptions, ClustersOptions, ClusterCordonOptions,
    ClusterAddOptions, ClusterCheckOptions, ClusterRemoveOptions, LockOptions, UnlockOptions,
    BackupOptions, RestoreOptions, ImagesOptions, SimulateOptions, CrdsOptions, RbacOptions,
    WebhooksOptions, ReplayOptions, SystemsOptions, SystemVerbOptions, VaultSyncOptions,
    VersionOptions, CompletionOptions, ManOptions>;

// Parses a command line. Called as kube-apiserver or etcd (the last part of argv[0]), the program
// is that verb; called as kubectl, it says that there is none.
Command parse(int argc, const char* const* argv);

// The table of verbs, as completion scripts and manual pages need it. A flag or a positional
// argument:
struct FlagSummary {
  std::string name{};   // "--output"; of an argument "name"
  std::string shown{};  // "-o,--output"
  std::string value{};  // "TEXT"; empty: a switch
  std::string help{};
  std::vector<std::string> choices{};  // all values; empty: too many
  bool files = false;                  // values are files
};
// One verb with its flags, its arguments and the verbs below it.
struct VerbSummary {
  std::string name{};
  std::string help{};
  std::string footer{};  // examples
  std::vector<FlagSummary> flags{};
  std::vector<FlagSummary> arguments{};
  std::vector<VerbSummary> verbs{};  // below this one
};
// Returns all verbs.
std::vector<VerbSummary> verb_summaries();
// Returns what holds for all verbs: flags of the connection, exit codes.
std::string_view about_program();

}  // namespace athanor::cli
