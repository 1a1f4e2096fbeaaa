// SPDX-License-Identifier: Apache-2.0
// Aggregated ClusterRoles.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

// Collects the rules of roles that others aggregate: those with rules of their own, through roles
// that are aggregated themselves. So roles that aggregate each other have the same rules at once,
// instead of copying them to and fro.
class Collector {
 public:
  explicit Collector(std::vector<Object> roles) : roles_(std::move(roles)) {}

  Value collect(const Object& role) {
    add_selected(role);
    return std::move(rules_);
  }

 private:
  void add_selected(const Object& role) {
    if (!seen_.insert(std::string(role.name())).second) {
      return;
    }
    const Value& selectors = role.body()["aggregationRule"]["clusterRoleSelectors"];
    for (const Object& other : roles_) {
      if (other.name() == role.name() || !selected(selectors, other)) {
        continue;
      }
      if (other.body()["aggregationRule"].is_object()) {
        add_selected(other);
        continue;
      }
      for (const Value& rule : other.body()["rules"].items()) {
        if (std::ranges::find(rules_.items(), rule) == rules_.items().end()) {
          rules_.push_back(rule);
        }
      }
    }
  }

  std::vector<Object> roles_;
  std::set<std::string> seen_{};
  Value rules_ = Value::list();
};

Plan aggregate_role(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto role = view.get(api::kClusterRole, key);
  if (!role || !role->body()["aggregationRule"].is_object()) {
    return plan;
  }
  const Value rules = Collector(view.list(api::kClusterRole)).collect(*role);
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
      .reconcile = aggregate_role,
      .user = "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
      .small = kKinds};
  return kOperator;
}

}  // namespace athanor::workloads
