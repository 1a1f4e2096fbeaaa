// SPDX-License-Identifier: Apache-2.0
// The end of a cluster (docs/spec/hearth.md section 10). Private to this folder.
#pragma once

#include <string>

#include "systems/hearth/cluster.hpp"

namespace athanor::hearth {

// Values of spec.deletionPolicy (docs/spec/hearth.md 10.2).
enum class DeletionPolicy : std::uint8_t { Drain, Force, Retain };
// Returns the policy; Drain for an empty or unknown value.
DeletionPolicy deletion_policy(const api::FournosClusterSpec& spec);

// Returns the wanted finalizers: ours added or, with manual offboarding, taken off; upstream's
// taken off.
Value wanted_finalizers(const Context& context);

// Takes one step further on the way out; resumes from what it finds.
Plan offboard(const Context& context);

}  // namespace athanor::hearth
