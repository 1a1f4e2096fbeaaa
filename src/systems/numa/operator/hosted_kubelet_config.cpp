// SPDX-License-Identifier: Apache-2.0
// Kubelet configurations on a hosted control plane (docs/spec/numa.md 7): ConfigMaps that hold a
// KubeletConfig become the exporters' ConfigMaps of their node pools. No owner: what has no source
// any more is deleted here.
#include <set>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/exporter_config.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/settings.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kWait = std::chrono::seconds(30);
constexpr const char* kSourceNamespace = "openshift-config-managed";
constexpr const char* kSourceLabel = "hypershift.openshift.io/kubeletconfig-config";
constexpr const char* kPoolLabel = "hypershift.openshift.io/nodePool";

Plan reconcile(const View& view, const Key& /*key*/, Instant now) {
  const Settings settings = settings_of(view.config("numa"));
  Plan plan;
  if (platform_of(view, settings) != Platform::HyperShift) {
    return plan;
  }
  const auto owner = view.get(kOperatorKind, {"", kOperatorName});
  if (owner && owner->annotation(kPauseReconciliation) == "enabled") {
    return plan;
  }
  std::set<std::string> wanted;
  std::optional<Error> undecodable;
  const auto spec = owner ? api::decode<OperatorSpec>(owner->spec()) : OperatorSpec();
  for (const Object& source : view.list(api::kConfigMap, {.ns = kSourceNamespace})) {
    const std::string pool(source.label(kPoolLabel));
    if (!source.metadata()["labels"].contains(kSourceLabel) || pool.empty() || source.deleting()) {
      continue;
    }
    if (!owner) {
      plan.wake_at(now + kWait);
      continue;
    }
    const auto document = yaml::parse(source.body()["data"]["config"].as_string());
    if (!document.ok()) {
      undecodable = document.error().with_context(source.name());
      wanted.insert(daemon_set_name(pool));  // what was read before stays
      continue;
    }
    const Value& kubelet = (*document)["spec"]["kubeletConfig"];
    if (auto wrong = kubelet.empty() ? std::nullopt : kubelet_error(kubelet)) {
      undecodable = wrong->with_context(source.name());
      wanted.insert(daemon_set_name(pool));
      continue;
    }
    if (kubelet.empty() || !wanted.insert(daemon_set_name(pool)).second) {
      continue;
    }
    Value config = exporter_config_map(settings, pool, kubelet, spec);
    const Key target = Object(config).key();
    plan.then(Apply{.target = {&api::kConfigMap, target}, .fields = std::move(config)});
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
  static const Operator kOperator{.name = "numaresources-hosted-kubeletconfig",
                                  .primary = &kOperatorKind,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .singleton = true,
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::numa
