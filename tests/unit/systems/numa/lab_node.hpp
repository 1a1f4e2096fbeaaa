// SPDX-License-Identifier: Apache-2.0
// Emulated nodes as a lab file describes them.
#pragma once

#include "kube/value/value.hpp"
#include "systems/numa/system.hpp"

namespace athanor::numa {

// Returns the annotations of a lab file's node with these zones.
inline Value annotations_of(const Value& zones) {
  Value annotations = Value::object();
  const auto extra = system().lab_node_members.front().read(zones, Value());
  for (const auto& [name, text] : extra->annotations) {
    annotations.set(name, text);
  }
  return annotations;
}

}  // namespace athanor::numa
