// SPDX-License-Identifier: Apache-2.0
// The reconcile of KubeletConfig (docs/spec/numa.md 7): the exporter's ConfigMap of its pool.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/operator/owned.hpp"
#include "systems/numa/settings.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kWait = std::chrono::seconds(30);

std::string exporter_config(const Object& config, const OperatorSpec& spec) {
  Value content = Value::object();
  const Value& kubelet = config.spec()["kubeletConfig"];
  Value section = Value::object();
  for (const char* name : {"topologyManagerPolicy", "topologyManagerScope"}) {
    if (!kubelet[name].as_string().empty()) {
      section.set(name, kubelet[name]);
    }
  }
  content.set("kubelet", std::move(section));
  for (const NamespacedName& one : spec.pod_excludes) {
    content.member("podExclude")
        .push_back(Value::object({{"namespacePattern", one.ns}, {"namePattern", one.name}}));
  }
  return yaml::print(content);
}

Plan reconcile(const View& view, const Key& key, Instant now) {
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
  if (owner->annotation(kPauseReconciliation) == "enabled" ||
      config->spec()["kubeletConfig"].empty()) {
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
    return plan;
  }
  const std::string name = daemon_set_name(pool->name);
  apply_owned(
      api::kConfigMap,
      Value::object(
          {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata",
            Value::object(
                {{"name", name},
                 {"namespace", settings.ns},
                 {"labels",
                  Value::object(
                      {{"numaresourcesoperator.nodetopology.openshift.io/name", kOperatorName},
                       {"nodegroup.nodetopology.openshift.io/machineconfigpool", pool->name}})}})},
           {"data", Value::object({{"config.yaml", exporter_config(*config, spec)}})}}),
      *config, plan);
  return plan;
}

}  // namespace

const Operator& kubelet_config_operator() {
  static const Kind* const kReads[] = {&kKubeletConfig,  &kOperatorKind,   &kMachineConfigPool,
                                       &kClusterVersion, &kInfrastructure, &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kConfigMap};
  static const Kind* const kSmall[] = {&kMachineConfigPool, &kClusterVersion};
  static const Operator kOperator{.name = "numaresources-kubeletconfig",
                                  .primary = &kKubeletConfig,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::numa
