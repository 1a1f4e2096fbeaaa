// SPDX-License-Identifier: Apache-2.0
// What the node has: real GPUs through the driver, or synthetic ones (docs/spec/das.md 8.2, 9.2).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/nvml/gpu_driver.hpp"
#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::agent {

// What the node has, before it is decided which GPUs are shared.
struct NodeFound {
  Value resources{};                     // status.nodeResources
  std::vector<das::Divisible> allows{};  // of each GPU
  const das::Vendor* vendor = nullptr;
  das::Discovery discovery{};
};

// Returns a node's synthetic GPUs: from its annotations, else the settings. Errors: unknown model.
Result<NodeFound> emulated_node(const Object& node, const das::Settings& settings,
                                const std::string& boot_id);
// Returns a node's real GPUs; instances that no record names are foreign.
Result<NodeFound> real_node(GpuDriver& driver, const std::vector<das::SliceRecord>& records,
                            const std::string& boot_id);

}  // namespace athanor::agent
