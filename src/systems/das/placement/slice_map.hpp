// SPDX-License-Identifier: Apache-2.0
// The slots of every GPU as people read them: who holds what, and what still fits.
#pragma once

#include <span>
#include <string>

#include "kube/value/object.hpp"

namespace athanor::das {

// For each node and GPU a line of slots, the claims below it by letter, and what still fits:
//
//   gpu-node  GPU 0  NVIDIA A100-PCIE-40GB  GPU-5a...
//     | A | B   B | . | . | . | . | . |
//     A  1g.5gb   ns/pod  inUse
//     fits  1g.5gb 4, 2g.10gb 1, 3g.20gb 1
//
// Claims that name an unknown GPU come last. Empty without nodes.
std::string slice_map(std::span<const Object> nodes, std::span<const Object> claims);

}  // namespace athanor::das
