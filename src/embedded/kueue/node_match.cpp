// SPDX-License-Identifier: Apache-2.0
// Taints and affinity of flavors.
#include "embedded/kueue/node_match.hpp"

#include <fmt/core.h>

#include "kube/node_match.hpp"
#include "kube/selector.hpp"

namespace athanor::kueue {

std::string untolerated_taint(const Flavor& flavor, const Value& pod_spec) {
  for (const Value& taint : flavor.node_taints.items()) {
    const std::string_view effect = taint["effect"].as_string();
    if (effect != "NoSchedule" && effect != "NoExecute") {
      continue;
    }
    if (!tolerates(pod_spec["tolerations"], taint) && !tolerates(flavor.tolerations, taint)) {
      return fmt::format("untolerated taint {{{} {} {} <nil>}} in flavor {}",
                         taint["key"].as_string(), taint["value"].as_string(), effect, flavor.name);
    }
  }
  return {};
}

bool matches_flavor(const Value& pod_spec, const Flavor& flavor,
                    const std::set<std::string, std::less<>>& known_keys) {
  for (const Member& wanted : pod_spec["nodeSelector"].members()) {
    if (known_keys.contains(wanted.key()) && flavor.node_labels[wanted.key()] != wanted.value) {
      return false;
    }
  }
  const Value& terms =
      pod_spec.at({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                   "nodeSelectorTerms"});
  bool any_match = terms.empty();
  for (const Value& term : terms.items()) {
    LabelSelector selector;
    bool dropped_all = true;
    for (const Value& expression : term["matchExpressions"].items()) {
      auto requirement = node_requirement(expression);
      if (requirement && known_keys.contains(requirement->key)) {
        selector.add(*std::move(requirement));
        dropped_all = false;
      }
    }
    if (dropped_all) {
      return true;  // a term about other keys alone: the affinity says nothing about flavors
    }
    any_match = any_match || selector.matches(flavor.node_labels);
  }
  return any_match;
}

}  // namespace athanor::kueue
