// SPDX-License-Identifier: Apache-2.0
// Dynamic resource allocation in the lab's scheduler.
#pragma once

#include "runtime/view/scheduling.hpp"

namespace athanor::devices {

// Claims of pods that wait get devices of the node that is chosen, before the pod is bound.
const SchedulingHooks& device_scheduling();

}  // namespace athanor::devices
