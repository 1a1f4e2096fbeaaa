// SPDX-License-Identifier: Apache-2.0
// BareServer: the API server alone, as kube-apiserver is: no nodes, no controllers, no kinds but
// the built-in ones (docs/spec/apiserver.md 1.3).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/lab/serving/serving_options.hpp"

namespace athanor::lab {

// Fields are named like kube-apiserver's flags; empty paths mean "none".
struct BareServerOptions {
  std::string bind_address = "127.0.0.1";
  int secure_port = 6443;           // 0: any free one
  std::string advertise_address{};  // empty: bind_address
  std::string data_dir{};           // empty: nothing survives the process
  std::string cert_dir{};           // apiserver.crt and .key, made when missing; empty: in memory
  std::string tls_cert_file{};      // beats cert_dir, with tls_private_key_file
  std::string tls_private_key_file{};
  std::string client_ca_file{};
  std::string token_auth_file{};
  std::vector<std::string> service_account_issuers{};  // the first one signs
  std::string service_account_signing_key_file{};      // empty: a key of its own
  std::vector<std::string> service_account_key_files{};
  std::vector<std::string> api_audiences{};
  bool always_allow = false;
  bool default_roles = false;  // RBAC is among the authorization modes
  bool anonymous_auth = true;
  std::vector<std::string> disabled_admission{};
  std::string service_cluster_ip_range = "10.0.0.0/24";
  Duration event_ttl = std::chrono::hours(1);
  std::chrono::seconds min_request_timeout{1800};
  ServingOptions serving{};
  std::string requestheader_client_ca_file{};  // of authenticating proxies
  apiserver::FrontProxy front_proxy{};
  std::string proxy_client_cert_file{};  // shown to aggregated API servers, with its key
  std::string proxy_client_key_file{};
  bool bootstrap_tokens = false;
};

// A running API server.
class BareServer {
 public:
  // Returns once it answers. Errors name the file or address that cannot be used.
  static Result<std::unique_ptr<BareServer>> start(BareServerOptions options);
  virtual ~BareServer() = default;

  [[nodiscard]] virtual const std::string& address() const = 0;  // https://HOST:PORT
  // Begins to shut down: /readyz answers 500, watches end; other requests are still answered.
  virtual void begin_shutdown() = 0;
  // Ends connections, then storage.
  virtual void stop() = 0;
};

}  // namespace athanor::lab
