// SPDX-License-Identifier: Apache-2.0
// May this user do that: AlwaysAllow, or system:masters, nodes and RBAC (docs/spec/apiserver.md
// 16.2).
#include "embedded/apiserver/auth/authorize.hpp"

#include "embedded/apiserver/auth/rbac_index.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kNodeRole = "system:node";

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
  explicit RbacAuthorizer(store::Store& store) : index_(store) {}

  [[nodiscard]] Decision authorize(const Attributes& attributes) const override {
    if (attributes.user->in_group("system:masters")) {
      return {.allowed = true, .reason = ""};
    }
    if (attributes.user->in_group("system:nodes") &&
        index_.cluster_role_allows(kNodeRole, attributes)) {
      return {.allowed = true, .reason = ""};
    }
    return index_.authorize(attributes);
  }

  [[nodiscard]] std::vector<Value> rules_for(const UserInfo& user,
                                             std::string_view ns) const override {
    return to_values(index_.rules_for(user, ns));
  }

 private:
  RbacIndex index_;
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
