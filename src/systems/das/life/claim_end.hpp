// SPDX-License-Identifier: Apache-2.0
// The end of one claim: its slice, its CDI files, the object.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// Releases a claim; nullopt: it holds no slot. Waits for an emulated slice that takes time to go.
Plan release_claim(const Object& object, const std::optional<Claim>& claim,
                   const Settings& settings, Instant now);

}  // namespace athanor::das
