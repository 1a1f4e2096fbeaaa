// SPDX-License-Identifier: Apache-2.0
// What a container leaves behind, and the CDI devices that it had.
#pragma once

#include <string>

#include "embedded/nodes/process/pod_directory.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// A container that has ended, and where its files are.
struct EndedContainer {
  PodDirectory directory;
  Value container{};
  bool is_step = false;
};
struct ContainerEnding {
  int code = 0;
  std::string message{};
};

// Returns how it ended, with what it says of that itself: its files may be anything.
ContainerEnding ending_of(const EndedContainer& ended, int code);

// Names the CDI devices of a container whose file, below `folder`, is gone; empty: all are there.
std::string missing_devices(const std::string& folder, const Value& container);
// Does what the poststop hooks of its CDI devices say.
void run_poststop(const std::string& folder, const Value& container);

}  // namespace athanor::nodes
