// SPDX-License-Identifier: Apache-2.0
// Owned objects.
#include "systems/numa/operator/owned.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "base/check.hpp"
#include "kube/apply/additions.hpp"
#include "runtime/view/refused_steps.hpp"

namespace athanor::numa {

void apply_owned(const View& view, std::string_view applier, const Kind& kind, Value object,
                 const Object& owner, Plan& plan) {
  const OwnerReference reference{.api_version = std::string(owner.api_version()),
                                 .kind = std::string(owner.kind()),
                                 .name = std::string(owner.name()),
                                 .uid = std::string(owner.uid()),
                                 .controller = true,
                                 .block_owner_deletion = true};
  object.member("metadata").set("ownerReferences", Value::list({reference.to_value()}));
  apply_whole(view, applier, kind, std::move(object), plan);
}

void apply_whole(const View& view, std::string_view applier, const Kind& kind, Value object,
                 Plan& plan) {
  const Key key = Object(object).key();
  if (const auto live = view.get(kind, key); live && !live->deleting()) {
    if (auto removal = removal_of_additions(live->body(), object, applier)) {
      plan.then(Patch{.target = {&kind, key},
                      .merge = *std::move(removal),
                      .guard = {.uid = std::string(live->uid()),
                                .resource_version = std::string(live->resource_version())}});
    }
  }
  plan.then(Apply{.target = {&kind, key}, .fields = std::move(object)});
}

std::optional<Error> drop_refused(const View& view, Instant now, Plan& plan) {
  std::vector<RefusedStep> refused = take_refused(view, now, plan);
  std::erase_if(refused, [](const RefusedStep& step) {
    // A server before Kubernetes 1.30 has no such kind.
    return step.error.code == 404 && (step.target.kind == &api::kValidatingPolicy ||
                                      step.target.kind == &api::kValidatingPolicyBinding);
  });
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
                                       &api::kValidatingPolicy,
                                       &api::kValidatingPolicyBinding,
                                       &kSecurityContextConstraints};
  const auto* const found = std::ranges::find_if(
      kKinds, [&](const Kind* kind) { return kind->name == object["kind"].as_string(); });
  ATHANOR_CHECK(found != std::end(kKinds), "manifests hold these kinds alone");
  return **found;
}

}  // namespace athanor::numa
