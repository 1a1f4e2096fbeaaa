// SPDX-License-Identifier: Apache-2.0
// The GPUs of emulated nodes: stable names, and status.nodeResources as such a node publishes it
// (docs/spec/das.md 9.2).
#pragma once

#include <string>
#include <string_view>

#include "kube/value/value.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Returns a UUID (version 5, namespace of URLs) that is the same for the same name.
std::string uuid_of(std::string_view name);

// Hardware of an emulated node.
struct EmulatedGpus {
  const GpuModel* model = nullptr;
  int count = 0;
};

// Returns "GPU-<uuid>", stable for a node and an index (docs/spec/das.md E-B1).
std::string emulated_uuid(std::string_view node, int index);
// Returns "MIG-<uuid>", stable for a place on a GPU (docs/spec/das.md E-B3).
std::string emulated_slice(std::string_view gpu, std::string_view profile, int start);
// Returns status.nodeResources of such a node.
Value emulated_resources(std::string_view node, const EmulatedGpus& gpus);

}  // namespace athanor::das
