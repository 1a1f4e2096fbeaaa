// SPDX-License-Identifier: Apache-2.0
// The GPUs of a node as `athanor-agent gpus` shows them.
#pragma once

#include <string>

#include "kube/value/value.hpp"
#include "systems/das/agent/discovery.hpp"

namespace athanor::agent::nvml {

// Returns a few lines for each GPU: what it is, whether it can be sliced, and its slices.
std::string report_text(const das::Discovery& found);
// Returns {"gpus": [{"index", "name", "uuid", "pciBusID", "numaNode", "memoryMiB", "healthy",
// "migEnabled", "profiles": [{"name", "size", "starts"}], "slices": [{"uuid", "start", "size"}]}]};
// profiles are those that the GPU has in MIG mode, whether that is enabled or not. numaNode is
// absent where it is not known, uuid of a slice where no compute instance is in it.
Value report_json(const das::Discovery& found);

}  // namespace athanor::agent::nvml
