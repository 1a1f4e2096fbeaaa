// SPDX-License-Identifier: Apache-2.0
// Claims and volumes: who gets which, and what may not be deleted yet.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// StorageClasses with this provisioner get volumes that exist on emulated nodes.
inline constexpr const char* kEmulatedProvisioner = "athanor.dev/emulated";
// A claim's annotation: who shall make its volume.
inline constexpr const char* kProvisioner = "volume.kubernetes.io/storage-provisioner";

// Binds claims to volumes that fit, calls for the provisioner of their class (at once, or for the
// first pod that mounts the claim), marks lost claims.
const Operator& volume_claim_operator();
// Sets the phase of a volume.
const Operator& volume_operator();
// Makes the volumes that claims call for, as the external provisioner of kEmulatedProvisioner.
const Operator& provisioner_operator();
// Deletes released volumes of that provisioner whose reclaim policy is Delete.
const Operator& reclaimer_operator();
// Makes the claims of pods' ephemeral volumes.
const Operator& ephemeral_volume_operator();
// Keeps claims while a pod mounts them.
const Operator& claim_protection_operator();
// Keeps volumes while they are bound.
const Operator& volume_protection_operator();

// Returns spec.volumeMode of a claim or volume, or its default.
std::string volume_mode(const Value& spec);
// Returns the spec.claimRef that binds a volume to this claim.
Value reference_to(const Object& claim);

}  // namespace athanor::workloads
