// SPDX-License-Identifier: Apache-2.0
// Everything that a program needs to know of the AppWrapper system to run it: besides its
// operators (operators.hpp), kinds (kinds.hpp), webhooks (webhooks.hpp) and settings
// (settings.hpp), the objects that a lab has from the start.
#pragma once

#include <string_view>
#include <vector>

#include "kube/value.hpp"
#include "runtime/view/admission.hpp"
#include "systems/appwrapper/kinds.hpp"
#include "systems/appwrapper/operators.hpp"
#include "systems/appwrapper/settings.hpp"
#include "systems/appwrapper/webhooks.hpp"

namespace athanor::appwrapper {

// All webhooks, in the order in which they run where Kueue's for this kind are ours, too.
std::vector<Webhook> lab_webhooks();

// Queues for a first AppWrapper (docs/spec/appwrapper.md 8.5, 9.3): `user-queue` and
// `default-queue` in namespace default and in `home`, where a lab's users are, on a ClusterQueue
// with 4 CPUs and 16 GPUs.
std::vector<Value> lab_objects(std::string_view home);

}  // namespace athanor::appwrapper
