// SPDX-License-Identifier: Apache-2.0
// Common parts of making slices for a pod, by device plugins and by DRA.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/plan.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// Returns a slot of one of these claims that another claim uses; empty: none. Claims overlap only
// if one was written by hand.
std::string conflict(const std::vector<Claim>& own, const std::vector<Claim>& all);
// Adds the claim's status after reaching `states`, in order (see claim_status()).
void write_state(Plan& plan, const Claim& claim, std::vector<std::string_view> states, Instant now);
// Adds an event about the pod of a claim.
void tell(Plan& plan, const Claim& claim, const char* type, const char* reason, std::string note);
// Faults and latency of emulated slices (docs/spec/das.md E-B4); nullopt: go on.
std::optional<NodeAdmission> held_up(const std::vector<Claim>& own, const Settings& settings,
                                     Instant now);
// Adds the last states of claims whose slices are made now.
void take_into_use(Plan& plan, const std::vector<Claim>& own, Instant now);

}  // namespace athanor::das
