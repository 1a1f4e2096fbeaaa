// SPDX-License-Identifier: Apache-2.0
// Options of the verbs of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/name_choice.hpp"
#include "cli/flags/target.hpp"
#include "cli/output/list_options.hpp"

namespace athanor::cli {

// Options of `athanor submit`; empty: the flag is not given.
struct SubmitOptions {
  Target target{};
  std::vector<std::string> files{};  // manifests, folders, or "-"
  NameChoice rerun{};                // jobs whose copies are submitted
  std::string job_template{};        // a saved one, which the flags complete
  bool from_environment = false;     // FJOB_JSON, in a schedule's pod
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
  std::string ttl{};
  std::string engine{};  // a mapping as YAML or JSON
  std::string lock_until{};
  std::string start_at{};
  std::vector<std::string> labels{};       // NAME=VALUE
  std::vector<std::string> annotations{};  // NAME=VALUE
  bool exclusive = false;
  bool lock_only = false;
  bool clusterless = false;
  bool keep_going = false;  // submits the good ones of several
  bool follow = false;
  bool dry_run = false;
  Output output = Output::Table;
};

// Options of `athanor describe`.
struct DescribeOptions {
  Target target{};
  std::vector<std::string> objects{};  // KIND/NAME; beside labels KIND
  std::string labels{};
  std::string clusters_ns{};
  Output output = Output::Table;
};

// Options of `athanor wait`.
struct WaitOptions {
  Target target{};
  std::vector<std::string> objects{};  // KIND/NAME; beside labels KIND
  std::string labels{};
  std::string clusters_ns{};
  std::string wanted{};  // "phase=P", "condition=T[=S]", "delete"; empty: the end
  std::string timeout{};
};

// Options of `athanor jobs`.
struct JobsOptions {
  Target target{};
  bool all_namespaces = false;
  ListOptions list{};
};

// Options of `athanor logs`.
struct LogsOptions {
  Target target{};
  std::vector<std::string> words{};  // KIND/NAME or NAME, or KIND NAME; beside labels KIND
  std::string labels{};
  bool follow = false;
  std::string task{};
  std::string container{};
  bool failed = false;
  bool previous = false;
  bool timestamps = false;
  bool prefix = false;  // kubectl's, instead of the short one
  bool no_prefix = false;
  std::int64_t tail = -1;  // lines of each container; -1: all
  std::string since{};
};

// Options of `athanor cancel`.
struct CancelOptions {
  Target target{};
  NameChoice choice{};
  bool terminate = false;  // skip the pipeline's finally tasks
};

// Options of `athanor queue`.
struct QueueOptions {
  Target target{};
  std::vector<std::string> names{};  // queues or cohorts, as of the verb queues
  std::string explain{};             // a job
  bool all_namespaces = false;
  ListOptions list{};  // without names and owners
};

// Options of `athanor templates`.
struct TemplatesOptions {
  Target target{};
  bool all_namespaces = false;
  ListOptions list{};
};

// Options of `athanor templates save`: the job is that of `athanor submit` with the same flags.
struct TemplateSaveOptions {
  SubmitOptions job{};
  std::string from{};  // a stored job
  std::string name{};
  std::string description{};
};

// Options of `athanor templates delete`.
struct TemplateDeleteOptions {
  Target target{};
  NameChoice choice{};
};

}  // namespace athanor::cli
