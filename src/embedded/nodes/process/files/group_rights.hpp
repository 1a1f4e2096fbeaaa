// SPDX-License-Identifier: Apache-2.0
// A pod's fsGroup on its volumes.
#pragma once

#include <cstdint>
#include <string>

namespace athanor::nodes {

// Rights of a group's members; Read for files that the kubelet writes itself.
enum class GroupRights : std::uint8_t { Read, ReadAndWrite };

// Gives a folder with all that is in it, to a depth of 400 folders, to `group`, whose members may
// then use it as a kubelet has it (fsGroup). Follows no link, also none that a container puts there
// meanwhile. Needs root.
void give_to_group(const std::string& folder, unsigned group, GroupRights rights);

}  // namespace athanor::nodes
