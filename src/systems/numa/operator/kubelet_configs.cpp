// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/kubelet_configs.hpp"

#include "kube/names/selector.hpp"
#include "kube/value/precedence.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {

bool selects(const Object& config, const Object& pool) {
  const auto selector = LabelSelector::from_value(config.spec()["machineConfigPoolSelector"]);
  return !config.deleting() && !config.spec()["kubeletConfig"].empty() && selector.ok() &&
         selector->matches(pool.metadata()["labels"]);
}

std::optional<Object> kubelet_config_of(const View& view, const Object& pool) {
  std::optional<Object> first;
  for (const Object& config : view.list(kKubeletConfig)) {
    if (selects(config, pool) && (!first || precedes(config, *first))) {
      first = config;
    }
  }
  return first;
}

}  // namespace athanor::numa
