// SPDX-License-Identifier: Apache-2.0
// Aggregated ClusterRoles.
#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/workloads/namespace_basics.hpp"
#include "kube/names/selector.hpp"

namespace athanor::workloads {
namespace {

bool selected(const Value& selectors, const Object& role) {
  return std::ranges::any_of(selectors.items(), [&](const Value& selector) {
    const auto parsed = LabelSelector::from_value(selector);
    return parsed.ok() && parsed->matches(role.metadata()["labels"]);
  });
}

Plan reconcile(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto role = view.get(api::kClusterRole, key);
  if (!role || !role->body()["aggregationRule"].is_object()) {
    return plan;
  }
  const Value& selectors = role->body()["aggregationRule"]["clusterRoleSelectors"];
  Value rules = Value::list();
  for (const Object& other : view.list(api::kClusterRole)) {
    if (other.name() == key.name || !selected(selectors, other)) {
      continue;
    }
    for (const Value& rule : other.body()["rules"].items()) {
      if (std::ranges::find(rules.items(), rule) == rules.items().end()) {
        rules.push_back(rule);
      }
    }
  }
  if (rules != role->body()["rules"] && !(rules.empty() && role->body()["rules"].empty())) {
    plan.then(Patch{.target = {&api::kClusterRole, key},
                    .merge = Value::object({{"rules", rules}}),
                    .guard = {.uid = std::string(role->uid())}});
  }
  return plan;
}

}  // namespace

const Operator& role_aggregation_operator() {
  static const Kind* const kKinds[] = {&api::kClusterRole};
  static const Operator kOperator{
      .name = "clusterrole-aggregation-controller",
      .primary = &api::kClusterRole,
      .reads = kKinds,
      .writes = kKinds,
      .reconcile = reconcile,
      .user = "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
      .small = kKinds};
  return kOperator;
}

}  // namespace athanor::workloads
