// SPDX-License-Identifier: Apache-2.0
// Mounts of a view. Images and volumes hold what containers and strangers wrote: links in them lead
// to places of the view, never out of it. Each returns what went wrong, or empty. For a process of
// one thread, in the mount namespace of the view.
#pragma once

#include <string>

#include "embedded/nodes/process/view/private_root.hpp"

namespace athanor::nodes {

// Opens what a mount binds. A path below a volume that is not there becomes a folder with the
// rights of the volume, as a kubelet makes it; one that leads out of the volume is an error.
std::string open_source(Mount& mount);

// Makes a folder of the view at `root`, and those above it.
std::string make_folder_in_view(const std::string& root, const std::string& path);
// Makes what a mount needs at its place in the view at `root`: a folder, or an empty file.
std::string make_mount_place(const std::string& root, const Mount& mount);
// Binds an opened source at its place, which is made.
std::string add_mount(const std::string& root, const Mount& mount);

// Makes a folder of the view at `root` and returns its path on the host, without links; empty where
// it cannot be made.
std::string place_in_view(const std::string& root, const std::string& path);

}  // namespace athanor::nodes
