// SPDX-License-Identifier: Apache-2.0
// Which cluster to talk to and as whom: kubeconfig files, read by kubectl's rules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value.hpp"

namespace athanor::client {

// Everything a connection needs; PEM texts, not file names.
struct Endpoint {
  std::string server{};                 // "https://127.0.0.1:6443"
  std::string certificate_authority{};  // PEM; empty: the system's roots
  bool insecure_skip_verify = false;
  std::string tls_server_name{};
  std::string client_certificate{};  // PEM
  std::string client_key{};          // PEM
  std::string token{};
  std::string ns = "default";
  std::string context{};
};

struct KubeconfigOptions {
  std::string path{};                                // --kubeconfig
  std::string context{};                             // --context; empty: current-context
  std::map<std::string, std::string> environment{};  // KUBECONFIG, HOME
};

// The files kubectl would read: an explicit path alone, else the $KUBECONFIG list, else
// ~/.kube/config.
std::vector<std::string> kubeconfig_files(const KubeconfigOptions& options);
// Merges the files (first value wins), picks the context and loads referenced files. Errors name
// the file and what is missing.
Result<Endpoint> load_endpoint(const KubeconfigOptions& options);
// The same from one parsed kubeconfig; relative file names are resolved against `folder`.
Result<Endpoint> endpoint_of(const Value& kubeconfig, const std::string& context,
                             const std::string& folder);

}  // namespace athanor::client
