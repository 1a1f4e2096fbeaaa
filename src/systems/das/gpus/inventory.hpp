// SPDX-License-Identifier: Apache-2.0
// The GPUs of a node: as an emulated node publishes them, and as consumers read them from a
// NodeAccelerator (docs/spec/das.md 2.3, 9.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/das/makers/emulation.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/slices/slots.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Reads what an emulated node has from its annotations, else from the settings. Errors name the
// unknown model or the count out of range.
Result<EmulatedGpus> emulated_gpus(const Object& node, const Settings& settings);

// One GPU as its NodeAccelerator lists it.
struct NodeGpu {
  std::string uuid{};
  std::string name{};
  int index = 0;  // as the node counts its GPUs
  bool healthy = true;
  SlotMask foreign = 0;   // slots of instances that DAS did not make
  bool dra = false;       // DRA hands it out, not device plugins
  bool shared = false;    // shared without slices
  std::size_t table = 0;  // index into NodeGpus::tables
};
// GPUs of one node with their profiles.
struct NodeGpus {
  std::vector<NodeGpu> gpus{};  // in the published order
  std::vector<MigTable> tables{};
  std::string problem{};  // why the resources cannot be decoded; empty: they can
};
// Returns the slots of a published GPU that are held by instances which DAS did not make.
SlotMask foreign_slots(const Value& gpu);
// Returns the profiles of all GPUs in status.nodeResources, in order of bytes.
std::vector<std::string> offered_profiles(const Value& node_resources);
// Reads status.nodeResources; leaves out placements outside a GPU's slots.
NodeGpus read_resources(const Value& node_resources);

}  // namespace athanor::das
