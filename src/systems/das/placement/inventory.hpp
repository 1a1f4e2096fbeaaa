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
#include "systems/das/placement/slots.hpp"
#include "systems/das/placement/tables.hpp"
#include "systems/das/settings.hpp"

namespace athanor::das {

// A UUID (version 5, of the namespace for URLs) that is the same for the same name.
std::string uuid_of(std::string_view name);

// What an emulated node has: from its annotations, else from the settings.
struct EmulatedGpus {
  const GpuModel* model = nullptr;
  int count = 0;
};
// Errors name the unknown model or the count out of range.
Result<EmulatedGpus> emulated_gpus(const Object& node, const Settings& settings);
// "GPU-<uuid>", stable for a node and an index (docs/spec/das.md E-B1).
std::string emulated_uuid(std::string_view node, int index);
// "MIG-<uuid>", stable for a place on a GPU (docs/spec/das.md E-B3).
std::string emulated_slice(std::string_view gpu, std::string_view profile, int start);
// status.nodeResources of such a node.
Value emulated_resources(std::string_view node, const EmulatedGpus& gpus);
// One GPU as its NodeAccelerator lists it.
struct NodeGpu {
  std::string uuid{};
  std::string name{};
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
