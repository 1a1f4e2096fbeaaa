// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez, /readyz (spec/apiserver.md 4.4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "embedded/apiserver/call.hpp"

namespace athanor::apiserver {

// nullopt when the path is none of them.
std::optional<StatusResult<Response>> serve_health(Call& call);
// Every health path, for the root document.
std::vector<std::string> health_paths();

}  // namespace athanor::apiserver
