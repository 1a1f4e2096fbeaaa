// SPDX-License-Identifier: Apache-2.0
#include "agent/node/gpu_watch.hpp"

#include <utility>

#include "systems/das/gpus/inventory.hpp"

namespace athanor::agent {

Result<NodeFound> emulated_node(const Object& node, const das::Settings& settings,
                                const std::string& boot_id) {
  ATHANOR_TRY(const das::EmulatedGpus gpus, das::emulated_gpus(node, settings));
  const das::Vendor* const vendor = das::find_vendor(gpus.model->type);
  NodeFound found{.resources = vendor->discover(node.name(), *gpus.model, gpus.count),
                  .vendor = vendor};
  found.resources.set("bootId", boot_id);
  return found;
}

Result<NodeFound> real_node(GpuDriver& driver, const std::vector<das::SliceRecord>& records,
                            const std::string& boot_id) {
  ATHANOR_TRY(das::Discovery seen, driver.discover());
  NodeFound found{.resources = das::node_resources(seen, records, boot_id),
                  .allows = das::divisions_of(seen),
                  .vendor = das::find_vendor(das::kNvidiaMig)};
  found.discovery = std::move(seen);
  return found;
}

}  // namespace athanor::agent
