// SPDX-License-Identifier: Apache-2.0
// The exporter on emulated nodes (docs/spec/numa.md 9.5, 9.7, 9.10): zones less what pods have.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"

namespace athanor::numa {
namespace {

// What the exporter's pod was started with.
struct Flags {
  bool publish = true;
  bool fingerprint = false;
  bool periodic = true;
  std::string method{kMethodExclusive};
};

Flags flags_of(const Object& pod) {
  Flags flags;
  for (const Value& container : pod.spec()["containers"].items()) {
    for (const Value& arg : container["args"].items()) {
      const std::string_view text = arg.as_string();
      if (text == "--no-publish") {
        flags.publish = false;
      } else if (text == "--pods-fingerprint") {
        flags.fingerprint = true;
      } else if (text.starts_with("--pods-fingerprint-method=")) {
        flags.method = text.substr(text.find('=') + 1);
      } else if (text == "--sleep-interval=0") {
        flags.periodic = false;
      }
    }
  }
  return flags;
}

std::optional<Object> exporter_on(const std::vector<Object>& pods) {
  for (const Object& pod : pods) {
    if (pod.label("name") == kRteLabel && !pod.annotation(kEmulateAnnotation).empty() &&
        !pod.deleting() && condition_is(pod.status()["conditions"], "ContainersReady", "True")) {
      return pod;
    }
  }
  return std::nullopt;
}

Value attribute(std::string_view name, std::string_view value) {
  return Value::object({{"name", name}, {"value", value}});
}

class Exporter {
 public:
  Exporter(const View& view, const Object& node, const NodeProfile& profile, Instant now)
      : view_(view),
        node_(node),
        profile_(profile),
        now_(now),
        pods_(view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {}

  Plan run() {
    const auto exporter = exporter_on(pods_);
    if (!exporter) {
      return Plan::done();
    }
    flags_ = flags_of(*exporter);
    allocations_ = allocations_of(view_, node_);
    if (flags_.publish) {
      publish();
    }
    report(*exporter);
    return std::move(plan_);
  }

 private:
  void publish() {
    place();
    Value annotations = Value::object(
        {{"k8stopologyawareschedwg/rte-update", flags_.periodic ? "periodic" : "reactive"}});
    Value attributes = Value::list();
    if (flags_.fingerprint) {
      const std::string fingerprint = fingerprint_of(std::span<const Key>(fingerprinted()));
      annotations.set("topology.node.k8s.io/fingerprint", fingerprint);
      attributes.push_back(attribute("nodeTopologyPodsFingerprint", fingerprint));
      attributes.push_back(attribute("nodeTopologyPodsFingerprintMethod", flags_.method));
      if (profile_.policy == kSingleNumaNode) {
        packed_ = pack_placement(placed_, static_cast<int>(profile_.zones.size()));
        attributes.push_back(
            attribute("topology.node.k8s.io/numaplacement-metadata", packed_.metadata));
      }
    }
    attributes.push_back(attribute("topologyManagerScope", profile_.scope));
    attributes.push_back(attribute("topologyManagerPolicy", profile_.policy));
    Value body = Value::object({{"metadata", Value::object({{"annotations", annotations}})},
                                {"attributes", std::move(attributes)},
                                {"zones", zones()}});
    const Ref target{&kTopologyKind, node_.key()};
    if (view_.get(kTopologyKind, node_.key())) {
      plan_.then(Patch{.target = target, .merge = std::move(body)});
      return;
    }
    body.set("apiVersion", kTopologyKind.api_version());
    body.set("kind", kTopologyKind.name);
    body.member("metadata").set("name", node_.name());
    plan_.then(Create{.target = target, .object = std::move(body)});
  }

  // The zone of each container that has something of one.
  void place() {
    for (const Object& pod : pods_) {
      const auto found = allocations_.find(std::string(pod.uid()));
      if (found == allocations_.end()) {
        continue;
      }
      exclusive_.push_back(pod.key());
      for (const auto& [container, allocation] : found->second) {
        placed_.push_back({.name = {std::string(pod.ns()), std::string(pod.name()), container},
                           .node = zone_of(allocation)});
      }
    }
  }

  [[nodiscard]] int zone_of(const Allocation& allocation) const {
    for (std::size_t i = 0; i < profile_.zones.size(); ++i) {
      const auto& zone = profile_.zones[i];
      const auto has = [&](const NodeProfile::Device& device) {
        const auto taken = allocation.devices.find(device.resource);
        return taken != allocation.devices.end() && !taken->second.empty() &&
               std::ranges::find(device.ids, taken->second.front()) != device.ids.end();
      };
      const bool mine =
          !allocation.cpus.empty()
              ? std::ranges::find(zone.cpus, allocation.cpus.front()) != zone.cpus.end()
          : !allocation.devices.empty() ? std::ranges::any_of(zone.devices, has)
                                        : allocation.memory.contains(static_cast<int>(i));
      if (mine) {
        return static_cast<int>(i);
      }
    }
    return 0;
  }

  [[nodiscard]] std::vector<Key> fingerprinted() const {
    if (flags_.method == kMethodExclusive) {
      return exclusive_;
    }
    std::vector<Key> keys;
    for (const Object& pod : pods_) {
      const std::string_view phase = pod.status()["phase"].as_string();
      if (phase == "Running") {
        keys.push_back(pod.key());
      }
    }
    return keys;
  }

  [[nodiscard]] Amounts used(std::size_t index) const {
    const auto& zone = profile_.zones[index];
    Amounts used;
    for (const auto& [uid, containers] : allocations_) {
      for (const auto& [name, allocation] : containers) {
        used["cpu"] +=
            std::ranges::count_if(
                allocation.cpus,
                [&](int cpu) { return std::ranges::find(zone.cpus, cpu) != zone.cpus.end(); }) *
            kUnit;
        if (const auto block = allocation.memory.find(static_cast<int>(index));
            block != allocation.memory.end()) {
          for (const auto& [resource, amount] : block->second) {
            used[resource] += amount;
          }
        }
        for (const NodeProfile::Device& device : zone.devices) {
          const auto taken = allocation.devices.find(device.resource);
          if (taken != allocation.devices.end()) {
            used[device.resource] +=
                std::ranges::count_if(taken->second,
                                      [&](const std::string& id) {
                                        return std::ranges::find(device.ids, id) !=
                                               device.ids.end();
                                      }) *
                kUnit;
          }
        }
      }
    }
    return used;
  }

  [[nodiscard]] Value zones() const {
    Value zones = Value::list();
    for (std::size_t i = 0; i < profile_.zones.size(); ++i) {
      const Amounts capacity = profile_.capacity(i);
      const Amounts taken = used(i);
      Value resources = Value::list();
      for (const auto& [resource, amount] : profile_.allocatable(i)) {
        const std::int64_t left = std::max<std::int64_t>(amount - amount_of(taken, resource), 0);
        resources.push_back(
            Value::object({{"name", resource},
                           {"capacity", fmt::to_string(amount_of(capacity, resource) / kUnit)},
                           {"allocatable", fmt::to_string(amount / kUnit)},
                           {"available", fmt::to_string(left / kUnit)}}));
      }
      Value costs = Value::list();
      for (std::size_t j = 0; j < profile_.zones.size(); ++j) {
        costs.push_back(Value::object(
            {{"name", fmt::format("node-{}", j)}, {"value", profile_.zones[i].distances[j]}}));
      }
      Value zone = Value::object({{"name", fmt::format("node-{}", i)},
                                  {"type", "Node"},
                                  {"costs", std::move(costs)},
                                  {"resources", std::move(resources)}});
      if (const auto vector = packed_.vectors.find(static_cast<int>(i));
          vector != packed_.vectors.end()) {
        zone.set(
            "attributes",
            Value::list({attribute("topology.node.k8s.io/numaplacement-vector", vector->second)}));
      }
      zones.push_back(std::move(zone));
    }
    return zones;
  }

  void report(const Object& exporter) {
    Value conditions = exporter.status()["conditions"];
    for (const char* type : kReadinessGates) {
      set_condition(conditions, {.type = type, .status = "True"}, now_);
    }
    plan_.then(athanor::Status{.target = {&api::kPod, exporter.key()},
                               .status = Value::object({{"conditions", conditions}}),
                               .guard = {.uid = std::string(exporter.uid())}});
  }

  const View& view_;
  const Object& node_;
  const NodeProfile& profile_;
  Instant now_;
  std::vector<Object> pods_;
  Flags flags_{};
  std::map<std::string, PodAllocation> allocations_{};
  std::vector<Key> exclusive_{};
  std::vector<PlacedContainer> placed_{};
  PackedPlacement packed_{};
  Plan plan_{};
};

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting()) {
    return Plan::done();
  }
  const auto profile = profile_of(*node);
  return profile ? Exporter(view, *node, *profile, now).run() : Plan::done();
}

}  // namespace

const Operator& exporter_emulation() {
  static const Kind* const kReads[] = {&api::kNode, &api::kPod, &kTopologyKind};
  static const Kind* const kWrites[] = {&kTopologyKind, &api::kPod};
  static const Operator kOperator{.name = "emulated-topology-exporter",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::numa
