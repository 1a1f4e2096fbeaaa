// SPDX-License-Identifier: Apache-2.0
// The APIServices of group versions that definitions brought: made and removed with them, as the
// aggregator of Kubernetes does.
#pragma once

#include "base/time.hpp"
#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Brings them in step with what the registry serves. What other clients made is left alone.
void sync_custom_api_services(Core& core, Instant now);

}  // namespace athanor::apiserver
