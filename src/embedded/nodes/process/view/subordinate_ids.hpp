// SPDX-License-Identifier: Apache-2.0
// Subordinate ids of an ordinary user (/etc/subuid, /etc/subgid): with them a container has several
// users and groups. The setuid programs newuidmap and newgidmap map them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/nodes/process/view/private_root.hpp"

namespace athanor::nodes {

struct IdRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Returns the first range of a user, by name or number, in a file of lines "user:first:count";
// nullopt: it has none.
std::optional<IdRange> subordinate_range(std::string_view file, std::string_view name,
                                         std::int64_t id);
// Returns the arguments of newuidmap behind the pid: `inner` is `own`, the ids around it are those
// of the range.
std::string map_arguments(std::int64_t inner, std::int64_t own, const IdRange& range);
// Returns true if this process' user has subordinate ids, and programs to map them. Reads files.
bool has_subordinate_ids();
// Ids that are mapped. A map is written once: GroupsOnly cannot be mended.
enum class MappedIds : std::uint8_t { None, GroupsOnly, All };
// Maps them into the user namespace of a process that waits for it.
MappedIds map_subordinate_ids(int pid, const Ids& ids);

}  // namespace athanor::nodes
