// SPDX-License-Identifier: Apache-2.0
// Which cluster to talk to, how to reach it and as whom: a kubeconfig's context, or the service
// account of the pod this runs in. The one reading of both for every verb and controller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "client/kubeconfig.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// A credential plugin (client.authentication.k8s.io/v1 and v1beta1).
struct ExecPlugin {
  enum class Interactive : std::uint8_t { Never, IfAvailable, Always };
  std::string api_version{};
  std::string command{};  // resolved against the kubeconfig's folder when it holds a slash
  std::vector<std::string> arguments{};
  std::vector<std::pair<std::string, std::string>> environment{};  // added to that of the process
  std::string install_hint{};
  bool provide_cluster_info = false;
  Interactive interactive = Interactive::IfAvailable;
  Value cluster_config{};  // the cluster's extension client.authentication.k8s.io/exec
};

// User that requests act as (Impersonate-* headers); empty: their own.
struct Impersonation {
  std::string user{};
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};
};

// A PEM text, or a file to read it from (and again when it changes); a text wins.
struct PemSource {
  std::string text{};
  std::string file{};
  [[nodiscard]] bool empty() const { return text.empty() && file.empty(); }
};

// Holds secrets: never print it. Names in errors are those of files, users and contexts alone.
struct ClusterConfig {
  std::string server{};               // "https://127.0.0.1:6443", without a slash at its end
  PemSource certificate_authority{};  // empty: the system's roots
  bool insecure_skip_verify = false;
  std::string tls_server_name{};
  std::string proxy_url{};  // http, https or socks5; empty: none
  std::string no_proxy{};   // hosts reached without it, as NO_PROXY lists them
  bool disable_compression = false;

  PemSource client_certificate{};
  PemSource client_key{};
  std::string token{};
  std::string token_file{};  // what it says wins over `token`
  std::string username{};
  std::string password{};
  std::optional<ExecPlugin> exec{};
  Impersonation impersonate{};

  std::string ns = "default";
  bool ns_given = false;  // the context names it
  // Where the jobs of a lab are: its kubeconfig's extension kLabExtension; empty: it says nothing.
  std::string jobs_ns{};
  std::string context{};  // "in-cluster" without a kubeconfig
};

// A context's extension with what clients want to know of a lab: {"jobsNamespace": NAME}.
inline constexpr const char* kLabExtension = "athanor.dev/lab";

// What a kubeconfig may use, and where a pod's service account lies.
struct ClusterOptions {
  bool allow_exec = true;   // false: a kubeconfig with a plugin is refused (what others hand in)
  bool allow_files = true;  // false: so is one that names files of this machine
  bool in_cluster = true;   // where no kubeconfig is found
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Resolves by kubectl's rules: an explicit path alone, else the $KUBECONFIG list, else
// ~/.kube/config; when none of them exists the pod's service account. The environment may also name
// proxies (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). Errors: NotFound for what is missing, BadRequest for
// what is malformed or not allowed; they name the file, user or context.
Result<ClusterConfig> resolve_cluster(const KubeconfigOptions& options,
                                      const ClusterOptions& rules = {});
// Resolves one parsed kubeconfig (of a Secret) in the same way; relative file names are resolved
// against `folder`. `context` empty: current-context.
Result<ClusterConfig> cluster_config_of(const Value& kubeconfig, const std::string& context,
                                        const std::string& folder,
                                        const ClusterOptions& rules = {});
// Returns the pod's service account at KUBERNETES_SERVICE_HOST and _PORT of `environment`.
Result<ClusterConfig> in_cluster_config(const std::map<std::string, std::string>& environment,
                                        const ClusterOptions& rules = {});

}  // namespace athanor::client
