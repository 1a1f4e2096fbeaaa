// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that run Athanor or print what installs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/target.hpp"
#include "cli/output/list_options.hpp"
#include "embedded/lab/serving/serving_options.hpp"

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

}  // namespace athanor::cli
