// SPDX-License-Identifier: Apache-2.0
// The reconcile of KubeletConfig (docs/spec/numa.md 7): the exporter's ConfigMap of its pool.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/names/selector.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/exporter_config.hpp"
#include "systems/numa/operator/kubelet_configs.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/operator/owned.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kWait = std::chrono::seconds(30);

Emit event_of(const Object& config, const char* type, const char* reason, std::string note) {
  return {.about = {&kKubeletConfig, config.key()},
          .about_uid = std::string(config.uid()),
          .type = type,
          .reason = reason,
          .note = std::move(note)};
}

Plan ignored(const Object& config, Plan plan) {
  plan.then(event_of(config, "Normal", "ProcessSkip",
                     fmt::format("ignored kubelet config {}", config.name())));
  return plan;
}

Plan reconcile_kubelet_config(const View& view, const Key& key, Instant now) {
  const auto config = view.get(kKubeletConfig, key);
  if (!config || config->deleting()) {
    return Plan::done();
  }
  const auto owner = view.get(kOperatorKind, {"", kOperatorName});
  Plan plan;
  if (!owner) {
    plan.wake_at(now + kWait);
    return plan;
  }
  if (owner->annotation(kPauseReconciliation) == "enabled") {
    return plan;
  }
  const Value& kubelet = config->spec()["kubeletConfig"];
  if (kubelet.empty()) {
    return ignored(*config, std::move(plan));
  }
  if (auto wrong = kubelet_error(kubelet)) {
    plan.then(event_of(*config, "Warning", "ProcessFailed",
                       fmt::format("Failed to update RTE config from kubelet config {}: {}",
                                   config->name(), wrong->message)));
    plan.merge(Plan::retry(*std::move(wrong)));
    return plan;
  }
  const Settings settings = settings_of(view.config("numa"));
  const auto spec = api::decode<OperatorSpec>(owner->spec());
  const auto selector = LabelSelector::from_value(config->spec()["machineConfigPoolSelector"]);
  const Pools pools = pools_of(view, *owner, spec, platform_of(view, settings));
  if (!selector.ok() || pools.refusal) {
    return plan;
  }
  const auto pool = std::ranges::find_if(pools.pools, [&](const Pool& one) {
    return one.object && selector->matches(one.object->metadata()["labels"]);
  });
  if (pool == pools.pools.end()) {
    return ignored(*config, std::move(plan));
  }
  if (const auto first = kubelet_config_of(view, *pool->object);
      first && first->uid() != config->uid()) {
    plan.then(
        event_of(*config, "Warning", "ProcessSkip",
                 fmt::format("ignored kubelet config {}: machine config pool {} takes kubelet "
                             "config {}, the oldest that selects it",
                             config->name(), pool->name, first->name())));
    return plan;
  }
  Value map = exporter_config_map(settings, pool->name, kubelet, spec);
  const Key target = Object(map).key();
  const auto live = view.get(api::kConfigMap, target);
  const bool changes = !live || live->body()["data"] != map["data"];
  apply_owned(view, kKubeletConfigApplier, api::kConfigMap, std::move(map), *config, plan);
  if (changes) {
    plan.then(event_of(*config, "Normal", "ProcessOK",
                       fmt::format("Updated RTE config {} from kubelet config {}", target.text(),
                                   config->name())));
  }
  return plan;
}

}  // namespace

const Operator& kubelet_config_operator() {
  static const Kind* const kReads[] = {&kKubeletConfig,  &kOperatorKind,   &kMachineConfigPool,
                                       &kClusterVersion, &kInfrastructure, &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kConfigMap};
  static const Kind* const kSmall[] = {&kKubeletConfig, &kMachineConfigPool, &kClusterVersion};
  static const Access kAccess[] = {{&api::kConfigMap, "create patch delete"},
                                   {&kKubeletConfig, "update", "finalizers"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = kKubeletConfigApplier,
                                  .primary = &kKubeletConfig,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_kubelet_config,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::numa
