// SPDX-License-Identifier: Apache-2.0
// How sentinels are named and recognised. Private to this folder.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::hearth {

// Returns the name of the sentinel that Hearth makes.
std::string sentinel_name(const Settings& settings, const std::string& cluster);
// Returns true if a FournosJob locks this cluster.
bool is_sentinel(const Object& job, const std::string& cluster);

}  // namespace athanor::hearth
