// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez, /readyz (docs/spec/apiserver.md 4.4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Serves the health paths; nullopt when the path is none of them.
std::optional<StatusResult<Response>> serve_health(Call& call);
// One check of one endpoint ("etcd" of "readyz").
struct HealthCheck {
  std::string endpoint{};
  std::string name{};
  bool passes = false;
};
// Returns the checks of all endpoints with their present results.
std::vector<HealthCheck> health_checks(const Core& core);
// Returns every health path, for the root document.
std::vector<std::string> health_paths();

}  // namespace athanor::apiserver
