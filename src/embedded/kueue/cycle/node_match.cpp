// SPDX-License-Identifier: Apache-2.0
// Taints and affinity of flavors.
#include "embedded/kueue/cycle/node_match.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "kube/names/node_match.hpp"

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

FlavorSelector::FlavorSelector(const Value& pod_spec,
                               const std::set<std::string, std::less<>>& known_keys) {
  for (const Member& wanted : pod_spec["nodeSelector"].members()) {
    if (known_keys.contains(wanted.key())) {
      labels_.push_back(&wanted);
    }
  }
  const Value& terms =
      pod_spec.at({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                   "nodeSelectorTerms"});
  any_ = terms.empty();
  for (const Value& term : terms.items()) {
    LabelSelector selector;
    for (const Value& expression : term["matchExpressions"].items()) {
      auto requirement = node_requirement(expression);
      if (requirement && known_keys.contains(requirement->key)) {
        selector.add(*std::move(requirement));
      }
    }
    any_ = any_ || selector.empty();  // a term about other keys alone
    terms_.push_back(std::move(selector));
  }
}

bool FlavorSelector::matches(const Flavor& flavor) const {
  const auto has_label = [&](const Member* wanted) {
    return flavor.node_labels[wanted->key()] == wanted->value;
  };
  const auto matches_term = [&](const LabelSelector& term) {
    return term.matches(flavor.node_labels);
  };
  return std::ranges::all_of(labels_, has_label) &&
         (any_ || std::ranges::any_of(terms_, matches_term));
}

}  // namespace athanor::kueue
