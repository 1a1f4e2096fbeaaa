// SPDX-License-Identifier: Apache-2.0
// The cluster's TLS profile as arguments of the operands (docs/spec/numa.md 6.6, 8.4, 16.1).
#pragma once

#include <string>
#include <string_view>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/operator/node_groups.hpp"

namespace athanor::numa {

struct TlsProfile {
  std::string min_version{};  // "VersionTLS12"; empty: the platform has no profile
  std::string ciphers{};      // Go's names, separated by commas
};

// Reads spec.tlsSecurityProfile of the APIServer "cluster"; Intermediate where it is absent.
TlsProfile tls_profile_of(const View& view, Platform platform);
TlsProfile read_tls_profile(const Value& profile);

// Appends PREFIXtls-min-version and PREFIXtls-cipher-suites to the first container's args; empty
// ones are left out.
void add_tls_flags(const TlsProfile& profile, std::string_view prefix, Value& workload);

}  // namespace athanor::numa
