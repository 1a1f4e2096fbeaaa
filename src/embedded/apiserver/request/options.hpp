// SPDX-License-Identifier: Apache-2.0
// Options: what the API server is started with.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

struct AuditPolicy;  // audit/audit_policy.hpp

// A bearer token of the token file, and the user it authenticates (docs/spec/apiserver.md 16.1).
struct StaticToken {
  std::string token{}, user{}, uid{};
  std::vector<std::string> groups{};
};

// --requestheader-*: what authenticating proxies say about their users.
struct FrontProxy {
  std::vector<std::string> allowed_names{};  // of their certificates; empty: any
  std::vector<std::string> username_headers{"X-Remote-User"};
  std::vector<std::string> uid_headers{"X-Remote-Uid"};
  std::vector<std::string> group_headers{"X-Remote-Group"};
  std::vector<std::string> extra_prefixes{"X-Remote-Extra-"};
};

// Settings of a server; fixed once it is created.
struct Options {
  std::string advertise_host = "127.0.0.1";
  // Adds a warning for each field of an object that has no effect here; null: all have. Given on
  // create, and for what an update adds. `resource` as the store names it.
  void (*warn_of_fields)(std::string_view resource, const Value& object,
                         std::vector<std::string>& warnings) = nullptr;
  bool advertise_loopback = false;  // all clients of the `kubernetes` Service are on this machine
  int advertise_port = 0;
  std::string ca_certificate_pem{};  // for kube-root-ca.crt and extension-apiserver-authentication
  // What aggregated API servers know this one by, and the CA that they check it with; may be empty.
  std::string proxy_client_certificate_pem{};
  std::string proxy_client_key_pem{};
  std::string requestheader_ca_pem{};
  FrontProxy front_proxy{};
  bool bootstrap_tokens = true;  // tokens of Secrets bootstrap-token-ID are taken
  std::vector<StaticToken> tokens{};
  bool always_allow = false;  // --authorization-mode with AlwaysAllow
  bool default_roles = true;  // the default RBAC objects are made and kept
  bool anonymous = true;      // false: requests without credentials are refused, too
  // Audiences that tokens are meant for and made for; empty: the issuer alone.
  std::vector<std::string> api_audiences{};
  // Admission steps left out, by name.
  std::vector<std::string> disabled_admission{};
  Duration event_ttl = std::chrono::hours(1);
  // Watches without a wish of their own live this long at least, and at most twice as long.
  std::chrono::seconds min_request_timeout{1800};
  // Timeout of everything but watches and other long requests.
  Duration request_timeout = std::chrono::seconds(60);
  std::string service_cluster_ip_range = "10.96.0.0/16";
  std::shared_ptr<const AuditPolicy> audit_policy{};  // null: nothing is audited
  // The quota loop of this server runs: quotas hold as soon as they are there. Otherwise what their
  // status says holds, whatever fills it.
  bool counts_quotas = true;
  // Parts of the control plane that run in this process, as componentstatuses name them; others are
  // known by their Leases.
  std::vector<std::string> components{};
  // services/NAME/proxy follows a Service's annotation athanor.dev/endpoint and its externalName.
  bool proxy_named_endpoints = false;
  // What controllers of this process write (as service accounts) is taken at its word: neither
  // validated nor, of custom objects that exist, pruned, and without note of who manages its
  // fields. For simulations of what has been judged before.
  bool trusts_controllers = false;
};

}  // namespace athanor::apiserver
