// SPDX-License-Identifier: Apache-2.0
// What the engine adds between an event and the write that follows from it.
#pragma once

#include <string>

#include "controllers/world.hpp"

namespace athanor::bench {

// Keeps so many ConfigMaps, and copies data.wish to data.done wherever they differ. Prints "ready"
// and again on each SIGUSR1; on SIGTERM prints the times of all wishes since the last, and returns.
void measure_latency(World& world, const std::string& kubeconfig, const std::string& ns,
                     int objects, bool http2);

}  // namespace athanor::bench
