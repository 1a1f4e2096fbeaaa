// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/tls_flags.hpp"

#include <string>

#include "base/log.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

void add_tls_options(flags::Verb& verb, net::TlsLimits& limits) {
  verb.add_option(
      "--tls-min-version", limits.min_version,
      "minimum TLS version: VersionTLS12 or VersionTLS13 (default: as OpenShift's TLS profile has "
      "it, else VersionTLS12)");
  verb.add_option("--tls-cipher-suites", limits.ciphers,
                  "cipher suites of TLS: IANA names (default: as OpenShift's TLS profile has them)")
      ->delimiter(',');
}

void warn_of_problems(const net::TlsLimits& limits) {
  for (const std::string& problem : net::problems_of(limits)) {
    log::warn("a TLS flag has no effect", {{"why", problem}});
  }
}

}  // namespace athanor::cli
