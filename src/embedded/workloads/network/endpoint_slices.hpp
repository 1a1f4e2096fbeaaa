// SPDX-License-Identifier: Apache-2.0
// Packing endpoints into EndpointSlices: what stays in its slice stays there, so that one pod's
// change rewrites one slice.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::workloads {

// Endpoints that share their ports and their kind of address.
struct SliceWish {
  std::string address_type = "IPv4";
  Value ports = Value::list();
  std::vector<Value> endpoints{};
};

// What the slices of one service have in common.
struct SliceSettings {
  std::string ns{};
  std::string name_prefix{};  // of new slices; a hash of `name_seed` follows
  std::string name_seed{};
  Value labels = Value::object();
  Value annotations = Value::object();
  Value owner{};                // reference
  std::size_t most = 100;       // endpoints of one slice
  bool keeps_one_empty = true;  // without endpoints one empty slice is kept
};

// Plans the steps from `present` to `wishes`.
Plan plan_slices(const SliceSettings& settings, const std::vector<Object>& present,
                 const std::vector<SliceWish>& wishes);

}  // namespace athanor::workloads
