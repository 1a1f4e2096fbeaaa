// SPDX-License-Identifier: Apache-2.0
// --tls-min-version and --tls-cipher-suites of a port (docs/spec/das.md 1).
#pragma once

#include "net/serving/served_tls.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named itself
namespace CLI {
class App;
}

namespace athanor::cli {

// Without either flag the limits stay empty: OpenShift's TLS profile counts.
void add_tls_options(CLI::App& verb, transport::TlsLimits& limits);
// Logs what cannot be applied.
void warn_of_problems(const transport::TlsLimits& limits);

}  // namespace athanor::cli
