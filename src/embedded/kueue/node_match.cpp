// SPDX-License-Identifier: Apache-2.0
// Taints and affinity of flavors.
#include "embedded/kueue/node_match.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/selector.hpp"

namespace athanor::kueue {
namespace {

bool tolerates(const Value& toleration, const Value& taint) {
  const std::string_view effect = toleration["effect"].as_string();
  if (!effect.empty() && effect != taint["effect"].as_string()) {
    return false;
  }
  const std::string_view key = toleration["key"].as_string();
  if (!key.empty() && key != taint["key"].as_string()) {
    return false;
  }
  const std::string_view op = toleration["operator"].as_string();
  if (op == "Exists") {
    return true;
  }
  return !key.empty() && toleration["value"].as_string() == taint["value"].as_string();
}

bool any_tolerates(const Value& tolerations, const Value& taint) {
  return std::ranges::any_of(tolerations.items(),
                             [&](const Value& t) { return tolerates(t, taint); });
}

std::optional<LabelRequirement> requirement_of(const Value& expression) {
  using Operator = LabelRequirement::Operator;
  static const std::map<std::string_view, Operator> kOperators{
      {"In", Operator::In},          {"NotIn", Operator::NotIn},
      {"Exists", Operator::Exists},  {"DoesNotExist", Operator::NotExists},
      {"Gt", Operator::GreaterThan}, {"Lt", Operator::LessThan}};
  const auto found = kOperators.find(expression["operator"].as_string());
  if (found == kOperators.end()) {
    return std::nullopt;
  }
  LabelRequirement requirement{.key = expression["key"].str(), .op = found->second};
  for (const Value& value : expression["values"].items()) {
    requirement.values.push_back(value.str());
  }
  return requirement;
}

}  // namespace

std::string untolerated_taint(const Flavor& flavor, const Value& pod_spec) {
  for (const Value& taint : flavor.node_taints.items()) {
    const std::string_view effect = taint["effect"].as_string();
    if (effect != "NoSchedule" && effect != "NoExecute") {
      continue;
    }
    if (!any_tolerates(pod_spec["tolerations"], taint) &&
        !any_tolerates(flavor.tolerations, taint)) {
      return fmt::format("untolerated taint {{{} {} {} <nil>}} in flavor {}",
                         taint["key"].as_string(), taint["value"].as_string(), effect, flavor.name);
    }
  }
  return {};
}

bool matches_flavor(const Value& pod_spec, const Flavor& flavor,
                    const std::set<std::string>& known_keys) {
  for (const Member& wanted : pod_spec["nodeSelector"].members()) {
    if (known_keys.contains(std::string(wanted.key())) &&
        flavor.node_labels[wanted.key()] != wanted.value) {
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
      auto requirement = requirement_of(expression);
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
