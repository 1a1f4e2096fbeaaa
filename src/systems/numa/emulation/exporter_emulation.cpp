// SPDX-License-Identifier: Apache-2.0
// The exporter on emulated nodes (docs/spec/numa.md 9, 16.6): the exporter's own functions over
// what the node's kubelet would answer, with the configuration of the exporter's pod.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/precedence.hpp"
#include "systems/numa/emulation/emulated_podresources.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/pod_conditions.hpp"
#include "systems/numa/exporter/round.hpp"
#include "systems/numa/exporter/writing.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kExporterContainer = "resource-topology-exporter";

// The exporters that run among a node's pods, the oldest first: that one publishes.
std::vector<Object> exporters_among(std::vector<Object> pods) {
  std::erase_if(pods, [](const Object& pod) {
    return pod.label("name") != kRteLabel || pod.annotation(kEmulateAnnotation).empty() ||
           pod.deleting() || !condition_is(pod.status()["conditions"], "ContainersReady", "True");
  });
  std::ranges::sort(pods, precedes);
  return pods;
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

// Surroundings of the process in the pod.
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

// Times at which the process's timer rings: multiples of its period, shifted by node, so that not
// all write at once.
class Timer {
 public:
  Timer(std::string_view node, Duration period)
      : period_(period),
        shift_(Duration(static_cast<std::int64_t>(xxh64(node, 0) % kMost) % period.count())) {}

  // A ring of just now counts: a round takes its time.
  [[nodiscard]] bool rings(Instant now) const {
    constexpr Duration kLate = std::chrono::milliseconds(500);
    return since_ring(now) <= std::min(kLate, period_ / 2);
  }
  [[nodiscard]] Instant next(Instant now) const { return now + period_ - since_ring(now); }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;

  [[nodiscard]] Duration since_ring(Instant now) const {
    const auto since = std::chrono::duration_cast<Duration>(now.time_since_epoch()) + shift_;
    return since % period_;
  }

  Duration period_;
  Duration shift_;
};

// Returns true if the process's loop would look now: at its start, at its timer, and, with a notify
// file, at each change.
bool looks_now(const Object& pod, const ExporterConfig& config, const std::optional<Timer>& timer,
               Instant now) {
  const bool starts = !condition_is(pod.status()["conditions"], "NodeTopologyUpdated", "True");
  return starts || !config.notify_file.empty() || !timer || timer->rings(now);
}

Value content_of(const View& view, const Object& node, const NodeProfile& profile,
                 const ExporterConfig& config) {
  const std::vector<PodResources> pods = pod_resources_of(view, node, profile);
  const bool reactive = !config.notify_file.empty() || config.sleep_interval <= Duration(0);
  return compute_round(config, hardware_of(profile), allocatable_of(profile),
                       {.pods = pods,
                        .trigger = reactive ? Trigger::Reactive : Trigger::Periodic,
                        .owner_uid = std::string(node.uid())})
      .content;
}

Plan publish(const View& view, const Object& pod, const Object& node, const NodeProfile& profile,
             const ExporterConfig& config, Instant now) {
  Plan plan;
  const Value content = content_of(view, node, profile, config);
  const Ref target{&kTopologyKind, node.key()};
  const auto live = view.get(kTopologyKind, node.key());
  if (!live) {
    plan.then(Create{.target = target, .object = create_body(std::string(node.name()), content)});
    return plan;
  }
  if (update_body(*live, content).is_null()) {
    return plan;  // nothing to write, at the next ring neither
  }
  std::optional<Timer> timer;
  if (settings_of(view.config("numa")).exporter_periods && config.sleep_interval > Duration(0)) {
    timer.emplace(node.name(), config.sleep_interval);
  }
  if (looks_now(pod, config, timer, now)) {
    plan.then(Patch{.target = target, .merge = content});
  } else {
    plan.wake_at(timer->next(now));
  }
  return plan;
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

athanor::Status conditions_step(const Object& pod, Value conditions) {
  return {.target = {&api::kPod, pod.key()},
          .status = Value::object({{"conditions", std::move(conditions)}}),
          .guard = {.uid = std::string(pod.uid())}};
}

// A node has one object: an exporter beside the one that publishes does not get ready.
Value idle_conditions(const Object& pod, const Object& first, const Object& node, Instant now) {
  Value conditions = pod.status()["conditions"];
  for (const char* type : kReadinessGates) {
    set_condition(conditions,
                  {.type = type,
                   .status = "False",
                   .reason = "AnotherExporter",
                   .message = fmt::format("exporter {} publishes the zones of node {}: it is older",
                                          first.key().text(), node.name())},
                  now);
  }
  return conditions;
}

Plan emulate_exporter(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting()) {
    return Plan::done();
  }
  const auto profile = profile_of(*node);
  if (!profile) {
    return Plan::done();
  }
  const std::vector<Object> exporters = exporters_among(
      view.list(api::kPod, {.index = "node", .index_value = std::string(node->name())}));
  if (exporters.empty()) {
    return Plan::done();
  }
  const Object* const exporter = &exporters.front();
  Plan plan;
  for (const Object& other : exporters) {
    if (&other != exporter) {
      plan.then(conditions_step(other, idle_conditions(other, *exporter, *node, now)));
    }
  }
  const auto config = config_of(view, *exporter, *node, *profile);
  if (config.ok() && !config->no_publish) {
    plan.merge(publish(view, *exporter, *node, *profile, *config, now));
  }
  const Value conditions = config.ok()
                               ? pod_conditions(*exporter, {.scanned = true, .written = true}, now)
                               : refused_conditions(*exporter, config.error(), now);
  if (!conditions.is_null()) {
    plan.then(conditions_step(*exporter, conditions));
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
                                  .reconcile = emulate_exporter};
  return kOperator;
}

}  // namespace athanor::numa
