// SPDX-License-Identifier: Apache-2.0
// Common parts of the subcommands of `athanor slices`.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/verb.hpp"
#include "systems/das/gpus/fleet.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// Exit code: nothing fits, or no moves help.
inline constexpr int kDoesNotFit = 3;

// NodeAccelerators and claims of an API server.
struct World {
  std::vector<Object> nodes{};
  std::vector<Object> claims{};
  [[nodiscard]] std::vector<FleetNode> fleet() const { return read_fleet(nodes, claims); }
};
Result<World> read_world(VerbContext& context);
// Returns the namespace of DAS: --das-namespace, or the default.
std::string namespace_of(VerbContext& context);

// Reads how the scheduler of this API server places slices: a lab's has a ConfigMap, a cluster's
// extender variables. Without either, and without the right to read them, the defaults.
Result<Settings> scheduler_settings(VerbContext& context);

// Returns true for -o json and -o yaml.
bool prints_values(const VerbContext& context);
// Returns "node/gpu-0/slot-4", the next function the same as data.
std::string place_text(const Spot& spot);
Value spot_value(const Spot& spot);

}  // namespace athanor::das
