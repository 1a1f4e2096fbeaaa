// SPDX-License-Identifier: Apache-2.0
// The options of `athanor controllers`: flags, and a file with the flags' names as keys.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Options of `athanor controllers`; addresses and durations as given.
struct ControllersOptions {
  std::string config{};
  std::string kubeconfig{};
  std::string context{};
  std::vector<std::string> namespaces{};
  bool all_namespaces = false;
  std::string controllers = "*";
  // Systems whose own executables this process stands in for (stand_in.hpp); empty: none.
  std::string systems{};
  std::map<std::string, std::string, std::less<>> upstream_flags{};  // of those, as given
  std::vector<std::string> settings{};  // NAME=VALUE, over the environment's
  bool leader_elect = true;
  bool leader_elect_given = false;
  std::string leader_namespace{};
  std::string leader_name{};  // empty: lease_of() the operators
  std::string lease_duration = "15s";
  std::string renew_deadline = "10s";
  std::string retry_period = "2s";
  std::string metrics_address{};  // empty: port 8080, in a pod of every address, else of loopback
  bool metrics_secure = false;
  std::string health_address{};  // empty: the metrics' address
  std::string liveness{};        // URL of the health endpoint (docs/spec/fournos.md R3.5)
  std::string log_level{};       // empty: what the systems' settings say, else info
  std::string log_format = "auto";
  double qps = 500;
  double burst = 1000;
  std::size_t concurrent_writes = 128;
  std::string drain_timeout = "20s";
  std::string platform_look = "10m";
  std::string otlp_endpoint{};
  std::vector<std::string> selectors{};  // RESOURCE=LABELS
  std::vector<std::string> drops{};      // RESOURCE=PATH
  std::string record{};                  // file; empty: nothing is recorded
  bool record_secrets = false;
  std::size_t record_limit = 1024;  // MiB
  std::string webhook_address{};    // empty: no webhooks
  std::string webhook_service = "athanor-webhooks";
  std::string webhook_namespace{};  // empty: as the Lease's
  std::string webhook_secret = "athanor-webhook-certificates";
  // Of the certificate's authority.
  std::string webhook_authority = "athanor-webhooks";
  std::string webhook_organization = "athanor";
  std::vector<std::string> webhook_configurations{};  // that get the bundle; empty: all
  std::string webhook_url{};
  std::vector<std::string> webhook_hosts{};
  std::vector<std::string> webhook_crds{};
  std::string webhook_certificate_life = "8760h";
  net::TlsLimits webhook_tls{};  // empty: OpenShift's TLS profile counts
  // Controllers start once the webhooks' certificate is in place; the stand-in's order.
  bool webhooks_first = false;
};

// Returns true if --config names a ConfigMap, where --systems is given: a path has a slash.
bool is_config_map(const std::string& config);

// Adds the verb with its flags.
void add_controllers(flags::Verb& app, ControllersOptions& options);

// Returns the arguments of a command line with those of the file of --config in front of the flags,
// so that flags win: "log-level: debug" becomes --log-level=debug. Anything but `athanor
// controllers --config FILE` is returned as it is. Errors name the file and the key.
Result<std::vector<std::string>> with_config_file(std::vector<std::string> arguments);
// Returns the arguments for which a file's text stands.
Result<std::vector<std::string>> config_arguments(const std::string& text, const std::string& name);

}  // namespace athanor::cli
