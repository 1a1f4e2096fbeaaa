// SPDX-License-Identifier: Apache-2.0
// Every operator of the house; a new one is added here and to CMakeLists.txt.
#include "scenarios/registry.hpp"

#include <algorithm>

#include "embedded/kueue/scheduler.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/wrapped/operators.hpp"
#include "fournos/operators.hpp"
#include "hearth/operators.hpp"
#include "systems/appwrapper/operators.hpp"

namespace athanor::test {

const Operator* find_operator(std::string_view name) {
  const Operator* const all[] = {
      &kueue::scheduler_operator(),       &kueue::workload_operator(),
      &kueue::cluster_queue_operator(),   &kueue::local_queue_operator(),
      &kueue::resource_flavor_operator(), &kueue::admission_check_operator(),
      &nodes::kubelet_operator(),         &nodes::node_operator(),
      &fournos::fournosjob_operator(),    &hearth::discovery_operator(),
      &hearth::cluster_operator(),        &hearth::queue_operator(),
      &hearth::sentinel_operator(),       &appwrapper::appwrapper_operator(),
      &appwrapper::workload_operator(),   &appwrapper::workload_release_operator(),
  };
  for (const Operator* op : wrapped::operators()) {
    if (op->name == name) {
      return op;
    }
  }
  const auto* const at = std::find_if(std::begin(all), std::end(all),
                                      [&](const Operator* op) { return op->name == name; });
  return at == std::end(all) ? nullptr : *at;
}

}  // namespace athanor::test
