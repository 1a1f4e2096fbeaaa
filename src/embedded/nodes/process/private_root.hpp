// SPDX-License-Identifier: Apache-2.0
// A container's own view of the file system: the host's folders, with the pod's volumes at their
// mount paths. Made of a tmpfs and bind mounts in a mount namespace of its own, so that nothing of
// it is seen outside and nothing is left behind.
#pragma once

#include <string>
#include <vector>

namespace athanor::nodes {

struct Mount {
  std::string from{};  // on the host
  std::string to{};    // absolute, in the container
  bool read_only = false;
};

// Moves the calling process (a fresh child, one thread) into its view. `scratch` is an empty folder
// of the host that the view is built on. Returns what went wrong, or empty.
std::string enter_private_root(const std::string& scratch, std::vector<Mount> mounts);

}  // namespace athanor::nodes
