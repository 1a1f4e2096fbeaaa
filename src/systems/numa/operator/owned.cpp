// SPDX-License-Identifier: Apache-2.0
// Owned objects.
#include "systems/numa/operator/owned.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "runtime/view/refused_steps.hpp"

namespace athanor::numa {

void apply_owned(const Kind& kind, Value object, const Object& owner, Plan& plan) {
  const OwnerReference reference{.api_version = std::string(owner.api_version()),
                                 .kind = std::string(owner.kind()),
                                 .name = std::string(owner.name()),
                                 .uid = std::string(owner.uid()),
                                 .controller = true,
                                 .block_owner_deletion = true};
  object.member("metadata").set("ownerReferences", Value::list({reference.to_value()}));
  const Key key = Object(object).key();
  plan.then(Apply{.target = {&kind, key}, .fields = std::move(object)});
}

std::optional<Error> drop_refused(const View& view, Instant now, Plan& plan) {
  std::vector<RefusedStep> refused = take_refused(view, now, plan);
  return refused.empty() ? std::nullopt : std::optional(std::move(refused.front().error));
}

const Kind& kind_of(const Value& object) {
  static const Kind* const kKinds[] = {&api::kServiceAccount,
                                       &api::kClusterRole,
                                       &api::kService,
                                       &api::kConfigMap,
                                       &api::kDaemonSet,
                                       &api::kDeployment,
                                       &kRole,
                                       &kRoleBinding,
                                       &kClusterRoleBinding,
                                       &kNetworkPolicy,
                                       &kSecurityContextConstraints};
  const auto* const found = std::ranges::find_if(
      kKinds, [&](const Kind* kind) { return kind->name == object["kind"].as_string(); });
  ATHANOR_CHECK(found != std::end(kKinds), "manifests hold these kinds alone");
  return **found;
}

}  // namespace athanor::numa
