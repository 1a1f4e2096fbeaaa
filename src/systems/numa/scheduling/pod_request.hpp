// SPDX-License-Identifier: Apache-2.0
// A pod's request of a node's zones: its containers, its quality of service, its sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// Requests of one container; limits stand in for absent requests.
struct ContainerRequest {
  enum class Role : std::uint8_t { Init, Sidecar, App };
  std::string name{};
  Role role = Role::App;
  Amounts requests{};
};

// Requests of a pod with its quality of service.
struct PodRequest {
  bool guaranteed = false;
  bool best_effort = false;
  bool non_native = false;                     // some container asks for a device
  std::vector<ContainerRequest> containers{};  // init containers first, in order
  // Largest sum that holds at one time, plus the pod's overhead; sidecars count beside what starts
  // after them.
  Amounts effective{};
  bool sidecars_counted = true;  // beside what starts after them; false: like init containers
};

// The counting of restartable init containers: beside later containers, or as init containers
// (docs/spec/numa.md 17).
enum class Sidecars : std::uint8_t { Counted, LikeInit };
// Returns the request of the pod's spec.
PodRequest request_of(const Object& pod, Sidecars sidecars = Sidecars::Counted);

// Returns the effective request without overhead: what a kubelet aligns in scope pod.
Amounts aligned_request(const PodRequest& pod);

// Returns true where the pod takes resources of zones for itself (docs/spec/numa.md 11.6). Zones
// that list no memory do not account it (10.2).
bool is_exclusive(const PodRequest& pod, const NodeTopology& topology);

}  // namespace athanor::numa
