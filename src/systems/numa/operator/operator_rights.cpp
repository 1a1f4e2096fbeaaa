// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/operator_rights.hpp"

#include "base/check.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::data {
std::string_view numa_operator_cluster_rules();
std::string_view numa_operator_rules();
}  // namespace athanor::data

namespace athanor::numa {
namespace {

Value rules_of(std::string_view text) {
  auto rules = yaml::parse(text);
  ATHANOR_CHECK(rules.ok(), "rules in the program are valid");
  return *std::move(rules);
}

}  // namespace

Value operator_cluster_rules() {
  return rules_of(data::numa_operator_cluster_rules());
}

Value operator_rules() {
  return rules_of(data::numa_operator_rules());
}

}  // namespace athanor::numa
