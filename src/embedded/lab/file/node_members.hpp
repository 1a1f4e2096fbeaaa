// SPDX-License-Identifier: Apache-2.0
// The members of a lab file's nodes that systems bring (System::lab_node_members), as labels and
// annotations of these nodes.
#pragma once

#include <span>

#include "base/result.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// Gives each node the labels and annotations of its members under the systems' settings, and the
// usual members where no node has one of a system. Labels that the file writes stay. Fails with
// "nodes: NODE: MEMBER: ..." where a member and the settings contradict each other.
Result<void> equip_nodes(Lab& lab, std::span<const System* const> systems,
                         const SystemConfig& config);

}  // namespace athanor::lab
