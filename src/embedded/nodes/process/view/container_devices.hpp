// SPDX-License-Identifier: Apache-2.0
// The folders of a container's view that are the kernel's: /dev, /proc and /sys, as container
// runtimes make them. Each function returns what went wrong, or empty.
#pragma once

#include <string>

namespace athanor::nodes {

// Mounts a /dev with harmless devices, accelerators, a /dev/shm and terminals of its own at
// `target`.
std::string mount_devices(const std::string& target);
// Mounts a /proc of the caller's PID namespace at `target`.
std::string mount_processes(const std::string& target);
// Makes the settings of the kernel below a mounted /proc read-only, and hides its memory and keys.
void protect_processes(const std::string& target);
// Binds the host's /sys, read-only.
std::string mount_kernel_objects(const std::string& target);

}  // namespace athanor::nodes
