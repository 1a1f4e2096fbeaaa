// SPDX-License-Identifier: Apache-2.0
// Processes that a container leaves behind: they leave its process group and lose their parents,
// so they become children of the spawner.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace athanor::nodes {

// Returns the children of the calling process, which has one thread.
std::vector<int> own_children();
// Returns the container whose mark is in the process's environment.
std::optional<std::int64_t> marked_container(int pid);
// Returns a process's mount namespace; nullopt when that is unknown (it has ended).
std::optional<std::uint64_t> mount_namespace(int pid);
// Kills a process and, if it leads one, its group.
void kill_tree(int pid);

}  // namespace athanor::nodes
