// SPDX-License-Identifier: Apache-2.0
// May this user do that: AlwaysAllow, or system:masters, nodes and RBAC (docs/spec/apiserver.md
// 16.2).
#include "embedded/apiserver/request/authorize.hpp"

#include <optional>

#include "embedded/apiserver/auth/node_authorizer.hpp"
#include "embedded/apiserver/auth/rbac_index.hpp"

namespace athanor::apiserver {
namespace {

std::vector<Value> to_values(const std::vector<PolicyRule>& rules) {
  std::vector<Value> values;
  values.reserve(rules.size());
  for (const PolicyRule& rule : rules) {
    values.push_back(rule.to_value());
  }
  return values;
}

class AlwaysAllow final : public Authorizer {
 public:
  [[nodiscard]] Decision authorize(const Attributes& /*attributes*/) const override {
    return {.allowed = true, .reason = ""};
  }
  [[nodiscard]] std::vector<Value> rules_for(const UserInfo& /*user*/,
                                             std::string_view /*ns*/) const override {
    const PolicyRule everything{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}};
    const PolicyRule every_path{.verbs = {"*"}, .non_resource_urls = {"*"}};
    return to_values({everything, every_path});
  }
};

class RbacAuthorizer final : public Authorizer {
 public:
  explicit RbacAuthorizer(store::Store& store) : index_(store), nodes_(store, index_) {}

  [[nodiscard]] Decision authorize(const Attributes& attributes) const override {
    if (attributes.user->in_group("system:masters")) {
      return {.allowed = true, .reason = ""};
    }
    const std::optional<Decision> node = nodes_.authorize(attributes);
    if (node && node->allowed) {
      return *node;
    }
    Decision decision = index_.authorize(attributes);
    if (!decision.allowed && node && !node->reason.empty()) {
      decision.reason = node->reason + (decision.reason.empty() ? "" : "\n" + decision.reason);
    }
    return decision;
  }

  [[nodiscard]] std::vector<Value> rules_for(const UserInfo& user,
                                             std::string_view ns) const override {
    return to_values(index_.rules_for(user, ns));
  }

 private:
  RbacIndex index_;
  NodeAuthorizer nodes_;
};

}  // namespace

std::unique_ptr<Authorizer> make_authorizer(const Options& options,
                                            const Dependencies& dependencies) {
  if (options.always_allow) {
    return std::make_unique<AlwaysAllow>();
  }
  return std::make_unique<RbacAuthorizer>(*dependencies.store);
}

}  // namespace athanor::apiserver
