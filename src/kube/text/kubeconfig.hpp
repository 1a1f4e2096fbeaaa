// SPDX-License-Identifier: Apache-2.0
// A kubeconfig of a user, in a Secret: where it leads and as whom
// (docs/spec/hearth.md 6.2, 6.3). Pure, and strict: nothing in it may make this program read its
// own disk or, unless allowed, run a program. The operator's own kubeconfig is read by client/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor {

// Holds secrets: never print it.
struct KubeTarget {
  std::string context{};  // the chosen one
  std::string server{};   // "https://10.0.0.1:6443", without a slash at its end
  std::string ca_pem{};   // empty: the system's roots
  bool insecure_skip_verify = false;
  std::string tls_server_name{};
  std::string proxy_url{};
  std::string certificate_pem{}, key_pem{};
  std::string token{};
  std::string username{}, password{};
  bool runs_program = false;  // exec or auth-provider; only when they are allowed
};

// What is wrong with a kubeconfig, in the order in which it is looked at (rows 3 to 8 of 6.2).
enum class KubeconfigFlaw : std::uint8_t { None, NotText, Absent, NotYaml, NoContexts, Unusable };

struct KubeconfigRules {
  bool allow_programs = false;    // exec, auth-provider
  bool allow_plain_http = false;  // credentials may go to an http:// server
  bool as_kubectl = false;        // refuse what kubectl in a job could not use
};

struct KubeconfigReading {
  KubeconfigFlaw flaw = KubeconfigFlaw::None;
  std::string why{};    // of Unusable: names contexts, clusters and users, never a secret
  KubeTarget target{};  // valid without a flaw
};

// Reads the `data` of a Secret: its key "kubeconfig" (base64 of a YAML mapping, or once more base64
// of one).
KubeconfigReading read_kubeconfig_data(const Value& data, const KubeconfigRules& rules = {});
// Returns the document itself; nullopt when there is none.
std::optional<Value> parse_kubeconfig_data(const Value& data);
// Reads a parsed document.
KubeconfigReading read_kubeconfig(const Value& kubeconfig, const KubeconfigRules& rules = {});

}  // namespace athanor
