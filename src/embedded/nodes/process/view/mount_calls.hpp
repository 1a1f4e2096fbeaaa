// SPDX-License-Identifier: Apache-2.0
// The system calls of which a container's view is made. Each returns what went wrong, or empty.
// For a process of one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace athanor::nodes {

// Returns "<what> <path>: <errno as text>".
std::string mount_failure(const char* what, const std::string& path);

// Returns true if `path` leads to a directory.
bool is_folder(const std::string& path);
// Returns true if `path` is `folder` or below it.
bool is_below(std::string_view path, std::string_view folder);
// Returns the folder that holds `path`.
std::string parent_of(const std::string& path);
// Returns `path` without ".." parts and with the host's symbolic links resolved, as far as it
// exists.
std::string resolve_path(const std::string& wanted);

// Returns `path` as a path of the tree at `root`, without ".." parts and with that tree's links
// resolved within it.
std::string resolve_within(const std::string& root, const std::string& path);

// Makes a folder and those above it.
std::string make_folders_to(const std::string& path);
// Makes what a mount at `target` needs: a folder where `from` is one, else an empty file.
std::string make_mount_point(const std::string& from, const std::string& target);
// Binds `from`, with the mounts below it, at `target`, which exists.
std::string bind_path(const std::string& from, const std::string& target);
// Makes the one mount at `target` read-only.
std::string make_read_only(const std::string& target);
// Lets no device file below the one mount at `target` open.
std::string make_without_devices(const std::string& target);
// Makes the mount at `target` and all below it read-only, as far as the kernel can.
std::string make_all_read_only(const std::string& target);
// Mounts an empty, read-only folder over `target`, where it is one.
std::string cover_folder(const std::string& target);

// Returns the mount points of a text in the format of /proc/self/mountinfo, outer ones first.
std::vector<std::string> mount_points_of(std::string_view mountinfo);
// Returns those of this process.
std::vector<std::string> own_mount_points();

// Makes a symbolic link at `target` that leads where the one at `path` does, where this can be
// done.
void copy_link(const std::string& path, const std::string& target);

}  // namespace athanor::nodes
