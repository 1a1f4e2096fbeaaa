// SPDX-License-Identifier: Apache-2.0
// OpenShift's TLS profile as arguments of operands (docs/spec/das.md 10.6, docs/spec/numa.md 6.6,
// 8.4, 16.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Its object "cluster" has the profile; other clusters lack the kind.
inline constexpr Kind kOpenShiftServer{"config.openshift.io", "v1", "APIServer", "apiservers",
                                       false};

struct TlsProfile {
  std::string min_version{};  // "VersionTLS12"; empty: the platform has no profile
  std::string ciphers{};      // Go's names, separated by commas

  [[nodiscard]] std::vector<std::string> cipher_names() const;
  friend bool operator==(const TlsProfile&, const TlsProfile&) = default;
};

// Reads spec.tlsSecurityProfile of the APIServer "cluster"; Intermediate where it is absent.
TlsProfile read_tls_profile(const Value& profile);
// Returns 16 digits of a digest over its name, version and number of ciphers; "default" where the
// APIServer names none.
std::string tls_profile_hash(const Value& profile);

// Appends PREFIXtls-min-version and PREFIXtls-cipher-suites to the first container's args; empty
// ones are left out.
void add_tls_flags(const TlsProfile& profile, std::string_view prefix, Value& workload);

}  // namespace athanor
