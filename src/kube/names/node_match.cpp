// SPDX-License-Identifier: Apache-2.0
// Matching pods with nodes.
#include "kube/names/node_match.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "kube/names/selector.hpp"

namespace athanor {
namespace {

bool tolerates_one(const Value& toleration, const Value& taint) {
  const std::string_view effect = toleration["effect"].as_string();
  if (!effect.empty() && effect != taint["effect"].as_string()) {
    return false;
  }
  const std::string_view key = toleration["key"].as_string();
  if (!key.empty() && key != taint["key"].as_string()) {
    return false;
  }
  return toleration["operator"].as_string() == "Exists" ||
         (!key.empty() && toleration["value"].as_string() == taint["value"].as_string());
}

bool all_match(const Value& expressions, const Value& labels) {
  LabelSelector selector;
  for (const Value& expression : expressions.items()) {
    auto requirement = node_requirement(expression);
    if (!requirement) {
      return false;
    }
    selector.add(*std::move(requirement));
  }
  return selector.matches(labels);
}

}  // namespace

std::optional<LabelRequirement> node_requirement(const Value& expression) {
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

bool tolerates(const Value& tolerations, const Value& taint) {
  return std::ranges::any_of(tolerations.items(),
                             [&](const Value& one) { return tolerates_one(one, taint); });
}

bool matches_term(const Value& term, const Object& node) {
  if (term["matchExpressions"].empty() && term["matchFields"].empty()) {
    return false;
  }
  const Value fields = Value::object({{"metadata.name", node.name()}});
  return all_match(term["matchExpressions"], node.metadata()["labels"]) &&
         all_match(term["matchFields"], fields);
}

bool matches_node(const Value& pod_spec, const Object& node) {
  for (const Member& wanted : pod_spec["nodeSelector"].members()) {
    if (node.metadata()["labels"][wanted.key()] != wanted.value) {
      return false;
    }
  }
  const Value& required =
      pod_spec.at({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  return required.is_null() ||
         std::ranges::any_of(required["nodeSelectorTerms"].items(),
                             [&](const Value& term) { return matches_term(term, node); });
}

}  // namespace athanor
