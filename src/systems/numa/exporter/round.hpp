// SPDX-License-Identifier: Apache-2.0
// One round of the exporter (docs/spec/numa.md 9.5, 9.7): from answers of podresources to the
// content of a NodeResourceTopology.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::numa {

// Cause of a round: the timer, or a notification of the kubelet's state (docs/spec/numa.md 9.9).
enum class Trigger : std::uint8_t { Periodic, Reactive };
// Returns the annotation's value: "periodic" or "reactive".
const char* text_of(Trigger trigger);

// Facts of one round besides configuration and hardware.
struct RoundInput {
  std::span<const PodResources> pods{};  // the answer of List as it came
  std::set<Key> ended{};                 // pods in phase Succeeded or Failed
  Trigger trigger = Trigger::Periodic;
  Duration since_last{};    // measured, for --expose-timing
  std::string owner_uid{};  // of the Node, for --add-nrt-owner; empty: no owner
};

// Content of the NodeResourceTopology and the fingerprint in it.
struct RoundOutput {
  Value content{};             // metadata without name, attributes, zones
  std::string fingerprint{};   // empty: switched off
  std::vector<Key> counted{};  // pods under the fingerprint
};

// Returns the content to publish (docs/spec/numa.md 9.7). Pure: reads neither files nor the API
// server.
RoundOutput compute_round(const ExporterConfig& config, const Hardware& hardware,
                          const AllocatableResources& allocatable, const RoundInput& input);

}  // namespace athanor::numa
