// SPDX-License-Identifier: Apache-2.0
// AllocationClaims as the mirror of allocated devices: one truth about which slots are taken,
// whichever API took them (docs/spec/das.md 15.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::das {

// Index of AllocationClaims by their ResourceClaim, "namespace/name".
inline constexpr std::string_view kMirrorsByClaim = "das-mirrors";
// Returns the claim's values for this index; empty: it is no mirror.
std::vector<std::string> mirror_claims(const Object& claim);
// Returns the mirrors of a ResourceClaim; those without a readable placement are left out.
std::vector<Claim> mirrors_of(const View& view, const Key& resource_claim);

// Devices of the emulated driver in an allocation.
std::vector<std::string> emulated_devices(const Object& resource_claim);

}  // namespace athanor::das
