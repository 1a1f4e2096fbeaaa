// SPDX-License-Identifier: Apache-2.0
// The options of `athanor extender`.
#pragma once

#include <string>
#include <vector>

#include "net/serving/served_tls.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Options of `athanor extender`; addresses and durations as given.
struct ExtenderOptions {
  std::string kubeconfig{};
  std::string context{};
  std::string address{};  // empty: port 9443, in a pod of every address, else of loopback
  std::string certificate{};
  std::string key{};
  net::TlsLimits tls{};                          // empty: OpenShift's TLS profile counts
  std::vector<std::string> systems{};            // empty: all that have scheduling hooks
  std::string zones_for{};                       // profile whose pods are judged by zones
  std::string zones_scoring = "LeastAllocated";  // scoringStrategy of that profile
  std::string zones_cache = "over-reserve";      // cache of that profile
  std::string preemption = "on";                 // "off": the extender deletes no pods itself
  bool leader_elect = true;
  std::string lease_namespace{};
  std::string lease_name = "athanor-extender";
  std::string lease_duration = "15s";
  std::string renew_deadline = "10s";
  std::string retry_period = "2s";
  std::string platform_look = "10m";
  std::string metrics_address{};
  bool metrics_secure = false;
  std::string health_address{};
  std::string log_level = "info";
  std::string log_format = "auto";
  double qps = 500;
  double burst = 1000;
  // What is printed instead of serving.
  bool print_configuration = false;
  bool print_rbac = false;
  std::string url{};
  std::string ca_file{};
  std::vector<std::string> profiles{};
};

// Adds the verb with its flags.
void add_extender(flags::Verb& app, ExtenderOptions& options);

}  // namespace athanor::cli
