// SPDX-License-Identifier: Apache-2.0
// Features of the stack by topic (docs/spec/numa.md 13.4), and the platform that tools detect.
#pragma once

#include <string>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/tools/tool.hpp"

namespace athanor::numa {

// Returns {"metadata": {"version"}, "active": [...]}.
Value features_value(const std::string& version);

// Returns "Kubernetes", "OpenShift" or "HyperShift" (docs/spec/numa.md 5.2).
Result<std::string> detect_platform(ToolContext& context);

}  // namespace athanor::numa
