// SPDX-License-Identifier: Apache-2.0
// Kubelet configurations on a hosted control plane (docs/spec/numa.md 7): ConfigMaps that hold a
// KubeletConfig become the exporters' ConfigMaps of their node pools. No owner: what has no source
// any more is deleted here.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/precedence.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/exporter_config.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/operator/owned.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kHostedWait = std::chrono::seconds(30);
constexpr const char* kSourceNamespace = "openshift-config-managed";
constexpr const char* kSourceLabel = "hypershift.openshift.io/kubeletconfig-config";
constexpr const char* kPoolLabel = "hypershift.openshift.io/nodePool";

Emit ignored_event(const Object& source, const std::string& pool, const std::string& first) {
  return {
      .about = {&api::kConfigMap, source.key()},
      .about_uid = std::string(source.uid()),
      .type = "Warning",
      .reason = "ProcessSkip",
      .note = fmt::format("ignored kubelet config {}: node pool {} takes kubelet config {}, the "
                          "oldest of the pool",
                          source.name(), pool, first)};
}

Plan reconcile_hosted_config(const View& view, const Key& /*key*/, Instant now) {
  const Settings settings = settings_of(view.config("numa"));
  Plan plan;
  if (platform_of(view, settings) != Platform::HyperShift) {
    return plan;
  }
  const auto owner = view.get(kOperatorKind, {"", kOperatorName});
  if (owner && owner->annotation(kPauseReconciliation) == "enabled") {
    return plan;
  }
  std::map<std::string, std::string> wanted;  // the source of each ConfigMap
  std::optional<Error> undecodable;
  const auto spec = owner ? api::decode<OperatorSpec>(owner->spec()) : OperatorSpec();
  std::vector<Object> sources = view.list(api::kConfigMap, {.ns = kSourceNamespace});
  std::ranges::sort(sources, precedes);
  for (const Object& source : sources) {
    const std::string pool(source.label(kPoolLabel));
    if (!source.metadata()["labels"].contains(kSourceLabel) || pool.empty() || source.deleting()) {
      continue;
    }
    if (!owner) {
      plan.wake_at(now + kHostedWait);
      continue;
    }
    const auto document = yaml::parse(source.body()["data"]["config"].as_string());
    if (!document.ok()) {
      undecodable = document.error().with_context(source.name());
      wanted.emplace(daemon_set_name(pool), source.name());  // what was read before stays
      continue;
    }
    const Value& kubelet = (*document)["spec"]["kubeletConfig"];
    if (auto wrong = kubelet.empty() ? std::nullopt : kubelet_error(kubelet)) {
      undecodable = wrong->with_context(source.name());
      wanted.emplace(daemon_set_name(pool), source.name());
      continue;
    }
    if (kubelet.empty()) {
      continue;
    }
    if (const auto [first, is_first] = wanted.emplace(daemon_set_name(pool), source.name());
        !is_first) {
      plan.then(ignored_event(source, pool, first->second));
      continue;
    }
    Value config = exporter_config_map(settings, pool, kubelet, spec);
    apply_whole(view, kHostedConfigApplier, api::kConfigMap, std::move(config), plan);
  }
  for (const Object& config : view.list(
           api::kConfigMap,
           {.ns = settings.ns,
           .labels = {{"numaresourcesoperator.nodetopology.openshift.io/name", kOperatorName}}})) {
    if (!wanted.contains(std::string(config.name())) && !config.deleting()) {
      plan.then(Delete{.target = {&api::kConfigMap, config.key()},
                       .guard = {.uid = std::string(config.uid())}});
    }
  }
  if (undecodable) {
    plan.merge(Plan::retry(*std::move(undecodable)));
  }
  return plan;
}

}  // namespace

const Operator& hosted_kubelet_config_operator() {
  static const Kind* const kReads[] = {&kOperatorKind, &kClusterVersion, &kInfrastructure,
                                       &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kConfigMap};
  static const Kind* const kSmall[] = {&kClusterVersion};
  static const Access kAccess[] = {{&api::kConfigMap, "create patch delete"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = kHostedConfigApplier,
                                  .primary = &kOperatorKind,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_hosted_config,
                                  .singleton = true,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::numa
