// SPDX-License-Identifier: Apache-2.0
// One rule of a Role or ClusterRole, and what it allows (docs/spec/apiserver.md 16.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/authorize.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// The lists of one rule, as written; "*" stands for all.
struct PolicyRule {
  std::vector<std::string> verbs{};
  std::vector<std::string> api_groups{};
  std::vector<std::string> resources{};
  std::vector<std::string> resource_names{};
  std::vector<std::string> non_resource_urls{};

  [[nodiscard]] bool allows(const Attributes& attributes) const;
  // Returns {APIGroups:[""], Resources:["secrets"], Verbs:["*"]}
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value to_value() const;
};

// Reads one item of a role's `rules`; what is absent becomes an empty list.
PolicyRule read_rule(const Value& rule);
// Reads a role's `rules`.
std::vector<PolicyRule> read_rules(const Value& rules);

// Splits the rule into parts of one verb, one group, one resource and at most one name each.
std::vector<PolicyRule> split_rule(const PolicyRule& rule);
// Joins parts that differ in their verb alone.
std::vector<PolicyRule> join_rules(const std::vector<PolicyRule>& parts);

// Returns ["a" "b"], as messages list texts.
std::string quoted_list(const std::vector<std::string>& texts);

}  // namespace athanor::apiserver
