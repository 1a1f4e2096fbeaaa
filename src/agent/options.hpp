// SPDX-License-Identifier: Apache-2.0
// Flags and environment of athanor-agent (docs/spec/das.md 1).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/status_endpoint.hpp"
#include "base/result.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::agent {

struct Options {
  std::string node{};  // NODE_NAME
  std::string ns{};    // empty: the pod's, outside a cluster das-operator
  std::string kubeconfig{};
  std::string listen = "0.0.0.0:8443";
  std::vector<std::string> terminate_on_files{};
  TlsChoice tls{};
  std::string cluster_policy = "gpu-cluster-policy";  // empty: it is not waited for
  std::string log_level = "info";
  das::Settings settings{};
  // Where the kubelet, the runtime and the driver are met.
  std::string plugin_folder = "/var/lib/kubelet/device-plugins";
  std::string drivers_folder = "/var/lib/kubelet/plugins";  // of DRA
  std::string registry_folder = "/var/lib/kubelet/plugins_registry";
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string cdi_folder = "/var/run/cdi";
  std::string nvml = "libnvidia-ml.so.1";
  std::string state_folder = das::kStateFolder;  // of modes: pipes of MPS, records of daemons
  std::string boot_id_file = "/proc/sys/kernel/random/boot_id";
};

// What the command line asks for; `text` is to be printed, and ends the program, when not empty.
struct Parsed {
  Options options{};
  std::string text{};
  bool gpus = false;  // show the GPUs that options.nvml reports, and end
  bool json = false;  // as JSON
};
// Parses the options. Errors are worded for a terminal; code 400 is a usage error.
Result<Parsed> parse_options(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment);

}  // namespace athanor::agent
