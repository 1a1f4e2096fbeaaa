// SPDX-License-Identifier: Apache-2.0
// A container's root below which the host is read-only: each of the host's folders is the lower
// layer of an overlay whose upper one belongs to the container, so that nothing it writes reaches
// the host. Home folders, /tmp, /run and the like are empty folders of its own.
#pragma once

#include <cstdint>
#include <string>

#include "embedded/nodes/process/view/private_root.hpp"

namespace athanor::nodes {

// Where the upper layers of containers can be.
// Memory: a tmpfs, which costs a twentieth of a disk's time, vanishes with its container, and takes
// memory (and swap) for what is written: large files belong into volumes. Disk: where this kernel's
// tmpfs holds no layers (before Linux 6.6).
enum class LayerPlace : std::uint8_t { None, Disk, Memory };
// What a kernel and a disk can do, and what they lack.
struct LayerSupport {
  LayerPlace place = LayerPlace::None;
  std::string missing{};  // where it is None
};

// Builds the root of a view at its scratch folder, which is a mount afterwards; its own mounts are
// not bound yet, but their places are there. To be called in the namespaces of the container.
// Returns what went wrong, or empty.
std::string build_layered_root(const View& view);

// Tries an overlay in `folder`, in a child with namespaces of its own. To be called while the
// process has one thread.
LayerSupport try_layers(const std::string& folder);

}  // namespace athanor::nodes
