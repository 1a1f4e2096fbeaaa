// SPDX-License-Identifier: Apache-2.0
// The priority levels and flow schemas that every server has (docs/spec/apiserver.md 14.5).
#pragma once

#include <vector>

#include "base/time.hpp"
#include "embedded/apiserver/bootstrap/rbac_objects.hpp"

namespace athanor::apiserver {

// Returns them as they are created; `now` dates the conditions.
std::vector<BootstrapObject> flow_objects(Instant now);

}  // namespace athanor::apiserver
