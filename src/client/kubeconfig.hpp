// SPDX-License-Identifier: Apache-2.0
// kubeconfig files: which ones count and how several become one, by kubectl's rules. What a context
// of them means is cluster_config.hpp's business.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// Flags and environment that select kubeconfig files.
struct KubeconfigOptions {
  std::string path{};     // --kubeconfig
  std::string context{};  // --context; empty: current-context
  // KUBECONFIG, HOME; HTTPS_PROXY, HTTP_PROXY, NO_PROXY (also in lower case);
  // KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT
  std::map<std::string, std::string> environment{};
};

// Returns the above variables of the process. Requires that there is one thread.
std::map<std::string, std::string> kubeconfig_environment();

// Returns the files that kubectl would read: an explicit path alone, else the $KUBECONFIG list,
// else ~/.kube/config.
std::vector<std::string> kubeconfig_files(const KubeconfigOptions& options);

// All kubeconfig files as one.
struct Kubeconfig {
  Value merged{};          // file names in it are absolute
  std::string files{};     // those read, "a, b"; empty: none exists
  std::string searched{};  // all of them
};
// Merges the files (first value wins). Errors name the file: an explicit one that cannot be read,
// any that is not YAML.
Result<Kubeconfig> read_kubeconfig(const KubeconfigOptions& options);

// Makes the relative file names of a cluster or user absolute.
void resolve_kubeconfig_paths(Value& part, const std::string& folder);

}  // namespace athanor::client
