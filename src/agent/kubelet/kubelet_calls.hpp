// SPDX-License-Identifier: Apache-2.0
// Questions to the kubelet: registration of a device plugin, and whose devices are whose.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::agent {

inline constexpr Duration kCallTimeout = std::chrono::seconds(5);

// Registers the plugin at `endpoint` (a file name in the kubelet's folder) for a resource. Blocks
// for at most kCallTimeout to connect and as long again.
Result<void> register_plugin(const std::string& kubelet_socket, const std::string& endpoint,
                             const std::string& resource);

// The devices of one container, as the kubelet keeps them.
struct ContainerDevices {
  Key pod{};
  std::string container{};
  std::string resource{};
  std::vector<std::string> ids{};
};
// Lists all containers of the node, of every resource. Blocks; errors carry the kubelet's words.
Result<std::vector<ContainerDevices>> list_devices(const std::string& socket);

}  // namespace athanor::agent
