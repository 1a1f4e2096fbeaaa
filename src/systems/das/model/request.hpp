// SPDX-License-Identifier: Apache-2.0
// Slices that a pod requests (docs/spec/das.md 6.2, S-B1, S-B2).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::das {

// One slice of one container.
struct SliceRequest {
  std::string container{};
  int index = 0;  // within the container's slices
  std::string profile{};
  friend bool operator==(const SliceRequest&, const SliceRequest&) = default;
};

// A pod with more is never placed: no node holds as many.
inline constexpr int kMostSlices = 128;

// All slices of a pod.
struct PodSlices {
  std::vector<SliceRequest> slices{};
  bool too_many = false;  // more than kMostSlices; `slices` is cut off
  [[nodiscard]] bool empty() const { return slices.empty(); }
  [[nodiscard]] std::vector<std::string> profiles() const;
};

// Lists in order of containers, then of resource names as bytes. A profile's demand is the larger
// of the app containers and sidecars together and the largest init container: init containers reuse
// the slices of app containers.
PodSlices slices_of(const Value& pod_spec);

// An init container that ends before the app containers start, and how many slices of each profile
// it uses.
struct InitUse {
  std::string container{};
  std::map<std::string, std::size_t> counts{};
};
// Returns the init containers with slices, in order.
std::vector<InitUse> init_uses(const Value& pod_spec);

}  // namespace athanor::das
