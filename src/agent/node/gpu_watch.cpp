// SPDX-License-Identifier: Apache-2.0
#include "agent/node/gpu_watch.hpp"

#include <utility>

#include "systems/das/placement/inventory.hpp"

namespace athanor::agent {

Result<NodeFound> emulated_node(const Object& node, const das::Settings& settings,
                                const std::string& boot_id) {
  ATHANOR_TRY(const das::EmulatedGpus gpus, das::emulated_gpus(node, settings));
  Value resources = das::emulated_resources(node.name(), gpus);
  resources.set("bootId", boot_id);
  return NodeFound{.published = Value::object({{"nodeResources", std::move(resources)},
                                               {"ready", das::emulated_readiness()}})};
}

Result<NodeFound> real_node(GpuDriver& driver, const std::vector<das::SliceRecord>& records,
                            const std::string& boot_id) {
  ATHANOR_TRY(das::Discovery found, driver.discover());
  Value published = Value::object({{"nodeResources", das::node_resources(found, records, boot_id)},
                                   {"ready", das::readiness(found)}});
  return NodeFound{.published = std::move(published), .discovery = std::move(found)};
}

}  // namespace athanor::agent
