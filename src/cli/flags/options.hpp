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
#include "cli/flags/cluster_options.hpp"
#include "cli/flags/controllers_flags.hpp"
#include "cli/flags/daily_options.hpp"
#include "cli/flags/extender_flags.hpp"
#include "cli/flags/job_options.hpp"
#include "cli/flags/name_choice.hpp"
#include "cli/flags/run_options.hpp"
#include "cli/output/list_options.hpp"
#include "cli/stand_ins/apiserver_flags.hpp"
#include "cli/stand_ins/etcd_flags.hpp"
#include "runtime/view/verb.hpp"

namespace athanor::cli {

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
  NameChoice choice{};
  AppWrapperVerb verb = AppWrapperVerb::Retry;
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
  bool several = false;                // takes more than one value
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
