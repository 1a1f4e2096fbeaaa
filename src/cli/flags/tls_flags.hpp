// SPDX-License-Identifier: Apache-2.0
// --tls-min-version and --tls-cipher-suites of a port (docs/spec/das.md 1).
#pragma once

#include "net/serving/served_tls.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds the flags. Without either one the limits stay empty: OpenShift's TLS profile counts.
void add_tls_options(flags::Verb& verb, net::TlsLimits& limits);
// Logs what cannot be applied.
void warn_of_problems(const net::TlsLimits& limits);

}  // namespace athanor::cli
