// SPDX-License-Identifier: Apache-2.0
// The manifests that install the operator itself (docs/spec/numa.md 5.1, 5.3, 14): plain ones and
// the OLM bundle.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::numa {

// Options of an installation.
struct OperatorInstall {
  std::string ns = "numaresources";
  std::string image = "athanor:latest";
  std::string scheduler_image{};  // empty: what the CR says
  bool monitoring = true;         // ServiceMonitor and the rights of Prometheus
};

// Lists namespace, definitions, account, roles, policies, Service, Deployment, in order to apply.
std::vector<Value> operator_manifests(const OperatorInstall& install);
// Returns the definition of NodeResourceTopology alone.
Value topology_definition();

// Returns the files of an OLM bundle by path: manifests and metadata.
std::vector<std::pair<std::string, std::string>> bundle_files(const OperatorInstall& install,
                                                              const std::string& version);

}  // namespace athanor::numa
