// SPDX-License-Identifier: Apache-2.0
// Keys, certificates and port of an emulated target cluster: made once and kept, so that its
// kubeconfig stays good over restarts.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/targets/target.hpp"
#include "kube/value/value.hpp"

namespace athanor::targets {

// The certificates' user, and that of basic authentication.
inline constexpr const char* kUser = "athanor-hearth";

// PEM texts. The authority's key is not kept: it signs these two and nothing more.
struct Identity {
  int port = 0;  // 0: not bound yet
  std::string authority{};
  std::string certificate{};
  std::string key{};
  std::string client_certificate{};
  std::string client_key{};
  std::string secret{};  // the token, or the password
};

// Makes a new one with its own authority; its certificates are for 127.0.0.1 and localhost.
Result<Identity> make_identity(const std::string& name, Instant now);
// Returns true if two thirds of its certificates' life are over, or they cannot be read.
bool is_due(const Identity& identity, Instant now);

// Returns it as the state file keeps it.
Value to_value(const Identity& identity);
// Reads it again; absent members are empty.
Identity identity_of(const Value& value);

// Returns a kubeconfig's text for `https://127.0.0.1:PORT` with everything embedded.
std::string kubeconfig_text(const Target& target, const Identity& identity);

}  // namespace athanor::targets
