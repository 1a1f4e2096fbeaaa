// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/round.hpp"

#include <algorithm>
#include <chrono>

#include "systems/numa/exporter/accounting.hpp"
#include "systems/numa/exporter/pod_filter.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {
namespace {

Value attribute(std::string_view name, std::string_view value) {
  return Value::object({{"name", name}, {"value", value}});
}

// Whole seconds, never below 0: clocks step.
std::string seconds_of(Duration duration) {
  const auto rounded = std::chrono::round<std::chrono::seconds>(duration);
  return format_go_duration(std::max(rounded, std::chrono::seconds(0)));
}

}  // namespace

const char* text_of(Trigger trigger) {
  return trigger == Trigger::Periodic ? "periodic" : "reactive";
}

RoundOutput compute_round(const ExporterConfig& config, const Hardware& hardware,
                          const AllocatableResources& allocatable, const RoundInput& input) {
  RoundOutput output;
  const std::vector<PodResources> pods =
      filtered({input.pods.begin(), input.pods.end()},
               {.reference = config.reference,
                .excludes = config.pod_exclude,
                .ended = config.exclude_terminal_pods ? input.ended : std::set<Key>{}});
  const std::vector<ExportedZone> zones =
      account(hardware, allocatable, pods,
              {.watch_namespace = config.watch_namespace, .excluded = config.excluded_resources()});
  Value annotations = Value::object({{"k8stopoawareschedwg/rte-update", text_of(input.trigger)}});
  Value attributes = Value::list();
  PackedPlacement packed;
  if (config.fingerprint) {
    for (const PodResources& pod : pods) {
      if (config.fingerprint_method == kMethodAll || has_locality(pod)) {
        output.counted.push_back(pod.key);
      }
    }
    output.fingerprint = fingerprint_of(std::span<const Key>(output.counted));
    annotations.set("topology.node.k8s.io/fingerprint", output.fingerprint);
    attributes.push_back(attribute("nodeTopologyPodsFingerprint", output.fingerprint));
    attributes.push_back(attribute("nodeTopologyPodsFingerprintMethod", config.fingerprint_method));
    if (config.policy == kSingleNumaNode) {
      // Readers refuse a zone whose id is not below the number: ids may have gaps.
      const int ids = hardware.nodes.empty() ? 0 : hardware.nodes.back().id + 1;
      packed = pack_placement(placed_containers(hardware, pods), ids);
      attributes.push_back(
          attribute("topology.node.k8s.io/numaplacement-metadata", packed.metadata));
    }
  }
  if (config.expose_timing) {
    annotations.set("k8stopoawareschedwg/sleep-duration", seconds_of(input.since_last));
    annotations.set("k8stopoawareschedwg/update-interval",
                    format_go_duration(config.sleep_interval));
  }
  attributes.push_back(attribute("topologyManagerScope", config.scope));
  attributes.push_back(attribute("topologyManagerPolicy", config.policy));
  Value metadata = Value::object({{"annotations", std::move(annotations)}});
  if (config.add_nrt_owner && !input.owner_uid.empty()) {
    metadata.set("ownerReferences", Value::list({Value::object({{"apiVersion", "v1"},
                                                                {"kind", "Node"},
                                                                {"name", config.hostname},
                                                                {"uid", input.owner_uid}})}));
  }
  output.content = Value::object({{"metadata", std::move(metadata)},
                                  {"attributes", std::move(attributes)},
                                  {"zones", zones_value(zones, packed.vectors)}});
  return output;
}

}  // namespace athanor::numa
