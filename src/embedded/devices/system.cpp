// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/system.hpp"

#include "embedded/devices/claim_hooks.hpp"
#include "embedded/devices/node.hpp"

namespace athanor::devices {

const System& system() {
  static const System kSystem{
      .name = "devices",
      .summary = "devices of ResourceClaims, as kube-scheduler allocates them",
      .stand_in = true,
      .scheduling = {&device_scheduling()},
      .node_hooks = {&device_node_hooks()}};
  return kSystem;
}

}  // namespace athanor::devices
