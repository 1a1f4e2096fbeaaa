// SPDX-License-Identifier: Apache-2.0
// Claims and volumes: who gets which, and what may not be deleted yet.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// StorageClasses with this provisioner get volumes that exist on emulated nodes.
inline constexpr const char* kEmulatedProvisioner = "athanor.dev/emulated";

// Binds claims to volumes that fit, makes volumes for classes of kEmulatedProvisioner (at once, or
// for the first pod that mounts the claim), tells lost claims.
const Operator& volume_claim_operator();
// The phase of a volume; volumes whose claim is gone are released, or deleted when their reclaim
// policy says so.
const Operator& volume_operator();
// Claims stay while a pod mounts them, volumes while they are bound.
const Operator& claim_protection_operator();
const Operator& volume_protection_operator();

}  // namespace athanor::workloads
