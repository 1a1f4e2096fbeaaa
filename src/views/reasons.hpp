// SPDX-License-Identifier: Apache-2.0
// The queueing's words for people.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace athanor::views {

// The resource group of each flavor of a ClusterQueue: a request needs one flavor of every group.
using FlavorGroups = std::map<std::string, std::size_t, std::less<>>;

// Returns what a job waits for in one short sentence, from a message that holds Kueue's text. An
// obstacle that lasts comes before one that ends by itself: "its queue has no quota of memory",
// "99 a100 fit in no cluster (at most 8)", "9 cpu fit in no flavor (at most 4)", "waits for a100:
// cluster-1 lacks 2". Any other text is returned as it is. Flavors without a group are taken for
// one group.
std::string clear_reason(std::string_view message, const FlavorGroups& groups = {});

// Returns "PHASE: MESSAGE", or the message alone where it begins with the phase.
std::string state_text(std::string_view phase, std::string_view message);

// Shortens "fournos/gpu-a100" to "a100", "fournos/cluster-slot" to "slots".
std::string short_resource(std::string_view resource);

}  // namespace athanor::views
