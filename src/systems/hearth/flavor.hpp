// SPDX-License-Identifier: Apache-2.0
// The ResourceFlavor of a cluster (docs/spec/hearth.md 8.1). Private to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "kube/value/object.hpp"
#include "systems/hearth/cluster.hpp"

namespace athanor::hearth {

// Makes exactly upstream's flavor, and the label of its creator.
Value flavor_object(const std::string& cluster);
// Returns why it could not be made, if that was tried.
std::optional<Error> flavor_refused(const View& view, const std::string& cluster);

// State of a cluster's flavor; Conflict: it has other node labels.
enum class FlavorState : std::uint8_t { Absent, Good, Conflict };
// Checks that an existing flavor selects this cluster's nodes and no others.
FlavorState flavor_state(const Object* flavor, const std::string& cluster);
// Returns true if we, or upstream, made it: then we may delete it (10.2 step 8).
bool is_our_flavor(const Object& flavor, const std::string& cluster);

// Creates the flavor and keeps its health label. A cluster whose name is too long has none.
Plan keep_flavor(const Context& context, bool healthy);

}  // namespace athanor::hearth
