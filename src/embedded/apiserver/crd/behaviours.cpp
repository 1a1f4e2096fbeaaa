// SPDX-License-Identifier: Apache-2.0
// The table from a built-in resource to its behaviour.
#include <array>

#include "embedded/kinds/kind_table.hpp"

namespace athanor::apiserver {

const KindBehaviour* kind_behaviour(std::string_view group, std::string_view /*version*/,
                                    std::string_view plural) {
  const std::array families = {
      pod_rows(),     workload_rows(),  job_rows(),    core_rows(),
      service_rows(), storage_rows(),   policy_rows(), rbac_rows(),
      network_rows(), extension_rows(), device_rows(), autoscaling_rows(),
  };
  for (const std::span<const KindRow> rows : families) {
    for (const KindRow& row : rows) {
      if (row.group == group && row.plural == plural) {
        return &row.behaviour;
      }
    }
  }
  return nullptr;
}

}  // namespace athanor::apiserver
