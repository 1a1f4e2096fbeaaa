// SPDX-License-Identifier: Apache-2.0
// A container's own view of the file system: the host's folders, with the pod's volumes at their
// mount paths. Made of mounts in a mount namespace of its own, so that nothing of it is seen
// outside and nothing is left behind: where the kernel can, of overlays (layered_root.hpp), else of
// a tmpfs and bind mounts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"

namespace athanor::nodes {

// A bind mount of the view.
struct Mount {
  std::string from{};   // on the host
  std::string below{};  // a path in it, which containers have written; may be empty
  std::string to{};     // absolute, in the container
  bool read_only = false;
  // Set by enter_private_root().
  Descriptor source{};
  bool is_folder = false;
};

// A user's ids, which a new user namespace needs.
struct Ids {
  unsigned user = 0;
  unsigned group = 0;
  unsigned as_user = 0;  // what they are in that namespace
  unsigned as_group = 0;
};
// Returns the effective ids of this process, the same inside.
Ids own_ids();

// What a container sees of the file system.
struct View {
  std::string scratch{};  // an empty folder of the host that the view is built on
  std::vector<Mount> mounts{};
  std::string working_folder{};  // made in the view where it is missing; may be empty
  std::string hidden{};          // a folder of the host that is empty in the view; may be empty
  // An empty folder for what the container writes; empty: the host's folders are seen as they are,
  // and may be written (layered_root.hpp).
  std::string layer{};
  bool layer_in_memory = false;
  std::string image{};  // a folder with the files of an image, in place of the host's; may be empty
  // Folders of the host that are empty in the view, and written there alone: homes.
  std::vector<std::string> own_folders{};
  bool read_only = false;  // all but the mounts; for views with a layer
  std::string hostname{};  // where the namespaces are made; may be empty
  // Set: the namespaces are made (own_pids.hpp), by a user of these ids; the view gets a /proc of
  // its own.
  std::optional<Ids> made_by{};
};

// Makes the namespaces of a view, if they are not made yet, for the calling process (a fresh child,
// one thread). Returns what went wrong, or empty.
std::string enter_view_namespaces(const View& view);
// Moves that process, which is in them, into its view. Returns what went wrong, or empty.
std::string enter_private_root(View view);
// Returns true if this user may make views, or if that cannot be tried now. Tried in a child; an
// answer is kept. For a process with one thread.
bool can_make_views();

// Maps the user in a user namespace just made. Returns what went wrong, or empty.
std::string map_own_ids(const Ids& ids);

// Maps the user in a user namespace just made, and lets no mount of this namespace be seen outside.
// Returns what went wrong, or empty.
std::string enter_made_namespaces(const Ids& ids);

}  // namespace athanor::nodes
