// SPDX-License-Identifier: Apache-2.0
// The exporter on emulated nodes (docs/spec/numa.md 9, 16.6): the exporter's own functions over
// what the node's kubelet would answer, with the configuration of the exporter's pod.
#include <fmt/core.h>

#include <optional>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/emulation/emulated_podresources.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/pod_conditions.hpp"
#include "systems/numa/exporter/round.hpp"
#include "systems/numa/exporter/writing.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kExporterContainer = "resource-topology-exporter";

std::optional<Object> exporter_on(const std::vector<Object>& pods) {
  for (const Object& pod : pods) {
    if (pod.label("name") == kRteLabel && !pod.annotation(kEmulateAnnotation).empty() &&
        !pod.deleting() && condition_is(pod.status()["conditions"], "ContainersReady", "True")) {
      return pod;
    }
  }
  return std::nullopt;
}

// The text of the pod's ConfigMap, which it has mounted as its configuration.
std::optional<std::string> mounted_config(const View& view, const Object& pod) {
  for (const Value& volume : pod.spec()["volumes"].items()) {
    const std::string name = volume["configMap"]["name"].str();
    if (volume["name"].as_string() != "rte-config-volume" || name.empty()) {
      continue;
    }
    const auto config = view.get(api::kConfigMap, {std::string(pod.ns()), name});
    if (config) {
      return config->body()["data"]["config.yaml"].str();
    }
  }
  return std::nullopt;
}

// What the process in the pod would find around it.
ConfigSources sources_of(const View& view, const Object& pod, const Object& node,
                         const NodeProfile& profile) {
  ConfigSources sources;
  for (const Value& container : pod.spec()["containers"].items()) {
    if (container["name"].as_string() == kExporterContainer) {
      for (const Value& arg : container["args"].items()) {
        sources.arguments.push_back(arg.str());
      }
    }
  }
  sources.environment = {{"NODE_NAME", std::string(node.name())},
                         {"REFERENCE_NAMESPACE", std::string(pod.ns())},
                         {"REFERENCE_POD_NAME", std::string(pod.name())},
                         {"REFERENCE_CONTAINER_NAME", "shared-pool-container"}};
  const auto config = mounted_config(view, pod);
  const std::string kubelet = fmt::format("topologyManagerPolicy: {}\ntopologyManagerScope: {}\n",
                                          profile.policy, profile.scope);
  sources.read_file = [config,
                       kubelet](const std::string& path) -> Result<std::optional<std::string>> {
    if (path == "/etc/resource-topology-exporter/config.yaml") {
      return config;
    }
    const bool of_kubelet =
        path == "/podresources/config.yaml" || path == "/host-var-lib-kubelet/config.yaml";
    return of_kubelet ? std::optional(kubelet) : std::nullopt;
  };
  sources.list_files = [](const std::string&) { return std::vector<std::string>(); };
  return sources;
}

Result<ExporterConfig> config_of(const View& view, const Object& pod, const Object& node,
                                 const NodeProfile& profile) {
  const ConfigSources sources = sources_of(view, pod, node, profile);
  ATHANOR_TRY(LoadedConfig loaded, load_config(sources));
  ATHANOR_TRY_VOID(complete_policy(loaded, sources));
  return std::move(loaded.config);
}

void publish(const View& view, const Object& node, const NodeProfile& profile,
             const ExporterConfig& config, Plan& plan) {
  const std::vector<PodResources> pods = pod_resources_of(view, node, profile);
  const RoundOutput round = compute_round(
      config, hardware_of(profile), allocatable_of(profile),
      {.pods = pods,
       .trigger = config.sleep_interval > Duration(0) ? Trigger::Periodic : Trigger::Reactive,
       .owner_uid = std::string(node.uid())});
  const Ref target{&kTopologyKind, node.key()};
  if (view.get(kTopologyKind, node.key())) {
    plan.then(Patch{.target = target, .merge = round.content});
  } else {
    plan.then(
        Create{.target = target, .object = create_body(std::string(node.name()), round.content)});
  }
}

// A process that cannot read its configuration would not start: the pod never becomes ready.
Value refused_conditions(const Object& pod, const Error& error, Instant now) {
  Value conditions = pod.status()["conditions"];
  for (const char* type : kReadinessGates) {
    set_condition(
        conditions,
        {.type = type, .status = "False", .reason = "InvalidConfig", .message = error.message},
        now);
  }
  return conditions;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting()) {
    return Plan::done();
  }
  const auto profile = profile_of(*node);
  if (!profile) {
    return Plan::done();
  }
  const auto exporter = exporter_on(
      view.list(api::kPod, {.index = "node", .index_value = std::string(node->name())}));
  if (!exporter) {
    return Plan::done();
  }
  Plan plan;
  const auto config = config_of(view, *exporter, *node, *profile);
  if (config.ok() && !config->no_publish) {
    publish(view, *node, *profile, *config, plan);
  }
  const Value conditions = config.ok()
                               ? pod_conditions(*exporter, {.scanned = true, .written = true}, now)
                               : refused_conditions(*exporter, config.error(), now);
  if (!conditions.is_null()) {
    plan.then(athanor::Status{.target = {&api::kPod, exporter->key()},
                              .status = Value::object({{"conditions", conditions}}),
                              .guard = {.uid = std::string(exporter->uid())}});
  }
  return plan;
}

}  // namespace

const Operator& exporter_emulation() {
  static const Kind* const kReads[] = {&api::kNode, &api::kPod, &kTopologyKind, &api::kConfigMap};
  static const Kind* const kWrites[] = {&kTopologyKind, &api::kPod};
  static const Operator kOperator{.name = "emulated-topology-exporter",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::numa
