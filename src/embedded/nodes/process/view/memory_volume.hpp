// SPDX-License-Identifier: Apache-2.0
// Volumes of medium Memory: tmpfs mounts in a mount namespace of the spawner, which containers
// inherit and nobody else sees.
#pragma once

#include <string>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Mounts one ("memory" in spawner.hpp). The first call moves the calling process, which has one
// thread, into a mount namespace of its own. Such a mount goes with its folder. Returns what went
// wrong, or empty.
std::string mount_memory(const Value& order);

}  // namespace athanor::nodes
