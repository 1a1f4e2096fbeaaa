// SPDX-License-Identifier: Apache-2.0
// The TLS profile of the platform that the operator runs on.
#pragma once

#include "runtime/view/tls_profile.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/operator/node_groups.hpp"

namespace athanor::numa {

// Returns an empty profile where the platform has none.
TlsProfile tls_profile_of(const View& view, Platform platform);

}  // namespace athanor::numa
