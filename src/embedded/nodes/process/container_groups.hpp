// SPDX-License-Identifier: Apache-2.0
// cgroups of containers: the kernel holds them to their limits of memory and cpu, where a tree of
// cgroup v2 is delegated to this program (docs/lab.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace athanor::nodes {

struct GroupLimits {
  std::optional<std::int64_t> memory_bytes{};
  std::optional<std::int64_t> cpu_millis{};  // thousandths of a processor
};

// The kernel's files that say where this program's cgroup is.
struct GroupPlaces {
  std::string mounts = "/proc/self/mountinfo";
  std::string own = "/proc/self/cgroup";
};

// The groups of one lab, below the cgroup in which it was started. Copyable.
class ContainerGroups {
 public:
  // Moves this program and its children into a group of their own, so that their former group may
  // have others beside it, and turns the controllers cpu and memory on there. Error: why limits
  // cannot be enforced so, for people; nothing has changed then.
  static Result<ContainerGroups> claim(const GroupPlaces& places = {});

  // Makes the group of a pod, whose containers share these limits; returns its folder. Does no harm
  // when it is there.
  [[nodiscard]] Result<std::string> make_pod(const std::string& uid,
                                             const GroupLimits& limits) const;
  // Makes the group `name` with these limits below that of its pod, if it has one; returns its
  // folder, for limit() and remove().
  [[nodiscard]] Result<std::string> make(const std::string& pod, const std::string& name,
                                         const GroupLimits& limits) const;
  // Sets other limits of a group.
  static Result<void> limit(const std::string& folder, const GroupLimits& limits);
  // Returns true if the kernel has killed a process of this group for its memory.
  static bool ran_out_of_memory(const std::string& folder);
  // Removes a group without processes, and that of its pod after the last one.
  static void remove(const std::string& folder);

 private:
  explicit ContainerGroups(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

// Moves the calling process into a group; empty: it stays. Returns false if the kernel refuses.
bool enter_group(const std::string& folder);

}  // namespace athanor::nodes
