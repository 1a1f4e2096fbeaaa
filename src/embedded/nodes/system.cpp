// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/system.hpp"

#include "embedded/nodes/nodes.hpp"

namespace athanor::nodes {

const System& system() {
  static const System kSystem{.name = "nodes",
                              .summary = "emulated nodes with timed pods, for tests",
                              .stand_in = true,
                              .operators = {&kubelet_operator(), &node_operator()}};
  return kSystem;
}

}  // namespace athanor::nodes
