// SPDX-License-Identifier: Apache-2.0
// The Pod Security Standards: what a pod must not ask for at the levels baseline and restricted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Levels of the standards, from the widest to the strictest.
enum class SecurityLevel : std::uint8_t { Privileged, Baseline, Restricted };

// One broken rule: "hostPort" and "container "c" uses hostPort 80".
struct SecurityFinding {
  std::string reason{};
  std::string detail{};
};

// Returns the rules of version 1.`minor` that the pod breaks: those of baseline first, each group
// in the order of the reference. `metadata` is the pod's, for its annotations.
std::vector<SecurityFinding> security_findings(const Value& metadata, const Value& spec,
                                               SecurityLevel level, int minor);

// Returns "REASON (DETAIL), REASON (DETAIL)".
std::string findings_text(const std::vector<SecurityFinding>& findings);

}  // namespace athanor::apiserver
