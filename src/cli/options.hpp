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
#include "cli/controllers/controllers_flags.hpp"
#include "cli/extender/extender_flags.hpp"
#include "cli/lab/apiserver_flags.hpp"
#include "cli/lab/etcd_flags.hpp"
#include "embedded/lab/serving/serving_options.hpp"
#include "runtime/view/verb.hpp"

namespace athanor::cli {

// Where to find the API server; the same rules and names as kubectl's.
struct Target {
  std::string kubeconfig{};
  std::string context{};
  std::string ns{};
  std::string server{};  // instead of the kubeconfig's
  std::string token{};   // instead of its credentials
  std::string authority{};
  bool insecure = false;
  std::string as{};
  std::vector<std::string> as_groups{};
  int verbosity = 0;
};

// Formats of -o/--output.
enum class Output : std::uint8_t { Table, Json, Yaml, Name, Wide };

// Options of `athanor up`.
struct UpOptions {
  std::string data{};  // empty: a folder under the user's state directory
  int port = 6443;
  std::string storage = "disk";
  std::string lab{};  // empty: the built-in lab
  std::string pods = "process";
  std::string pod_isolation = "on";
  std::string controllers = "*";
  bool unsafe_no_sync = false;
  bool emulate_cluster_policy = false;
  std::string allocation_api{};  // empty: as the settings say
  bool repair = false;
  lab::ServingOptions serving{};
  std::string request_timeout = "60s";
  std::uint64_t history_max_bytes = std::uint64_t{256} << 20;
  std::vector<std::string> settings{};  // NAME=VALUE, over the environment's
  int verbosity = 2;
};

// Options of `athanor envtest`.
struct EnvtestOptions {
  std::string directory{};
};

// Options of `athanor submit`; empty: the flag is not given.
struct SubmitOptions {
  Target target{};
  std::string file{};
  std::string name{};
  std::string owner{};
  std::string display_name{};
  std::string pipeline{};
  std::string cluster{};
  std::string gpu{};  // TYPE:COUNT
  std::string project{};
  std::vector<std::string> args{};
  std::vector<std::string> config{};  // PATH=VALUE
  std::vector<std::string> env{};     // NAME=VALUE
  std::vector<std::string> secret_refs{};
  std::string priority{};
  bool exclusive = false;
  bool follow = false;
  bool dry_run = false;
  Output output = Output::Table;
};

// Options of `athanor jobs`.
struct JobsOptions {
  Target target{};
  std::string name{};
  bool all_namespaces = false;
  bool watch = false;
  Output output = Output::Table;
};

// Options of `athanor logs`.
struct LogsOptions {
  Target target{};
  std::string name{};
  bool follow = false;
  std::string task{};
};

// Options of `athanor cancel`.
struct CancelOptions {
  Target target{};
  std::vector<std::string> names{};
  bool terminate = false;  // skip the pipeline's finally tasks
};

// Options of `athanor queue`.
struct QueueOptions {
  Target target{};
  std::string name{};     // a queue or cohort, as of the verb queues
  std::string explain{};  // a job
  bool all_namespaces = false;
  bool watch = false;
  Output output = Output::Table;
};

// Options of `athanor appwrappers`.
struct AppWrappersOptions {
  Target target{};
  std::string name{};
  bool all_namespaces = false;
  Output output = Output::Table;
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
  std::string name{};
  bool watch = false;
  Output output = Output::Table;
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
  Output output = Output::Table;
  std::map<std::string, std::string, std::less<>> flags{};  // those given
  std::map<std::string, std::string, std::less<>> arguments{};
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
  std::string directory{};
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

using Command =
    std::variant<Message, UpOptions, ControllersOptions, ExtenderOptions, ApiServerOptions,
                 EtcdOptions, EnvtestOptions, SubmitOptions, JobsOptions, LogsOptions,
                 CancelOptions, QueueOptions, AppWrappersOptions, AppWrapperActOptions,
                 ClustersOptions, ClusterAddOptions, ClusterCheckOptions, ClusterRemoveOptions,
                 LockOptions, UnlockOptions, BackupOptions, RestoreOptions, SimulateOptions,
                 CrdsOptions, RbacOptions, WebhooksOptions, ReplayOptions, SystemsOptions,
                 SystemVerbOptions, VaultSyncOptions, VersionOptions, CompletionOptions,
                 ManOptions>;

// Called as kube-apiserver or etcd (the last part of argv[0]), the program is that verb; called as
// kubectl, it says that there is none.
Command parse(int argc, const char* const* argv);

// The table of verbs, as completion scripts and manual pages need it. A flag or a positional
// argument:
struct FlagSummary {
  std::string name{};   // "--output"; of an argument "name"
  std::string shown{};  // "-o,--output"
  std::string value{};  // "TEXT"; empty: a switch
  std::string help{};
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
