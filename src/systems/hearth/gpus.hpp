// SPDX-License-Identifier: Apache-2.0
// Counting the GPUs of a target cluster's nodes, naming and summing them (docs/spec/hearth.md
// section 7). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::hearth {

// Returns what jobs call a product (docs/spec/hearth.md 7.3). `vendor` is the name when nothing is
// left of the label.
std::string short_name(std::string_view vendor, std::string_view product, const Settings& settings);

// GPUs of a cluster's nodes.
struct GpuCount {
  std::vector<api::ClusterGpu> gpus{};  // by (vendor, model, shortName)
  std::int64_t total = 0;               // slices of mixed MIG left out
  std::int64_t unlabelled_nodes = 0;    // GPUs, but no product label
  std::vector<std::string> skipped{};   // nodes whose amounts are no quantities
};
// Requires `nodes` as probes answer (hearth/probe.hpp): {"names", "count", "labels", "allocatable",
// "ready", "schedulable"} a group of like nodes.
GpuCount count_gpus(const Value& nodes, const Settings& settings);

// Returns the nodes with GPUs by name, 64 at most: [{name, gpu, allocatable, ready, schedulable}];
// one entry for each kind of GPU of a node. Requires `nodes` as count_gpus() does.
Value gpu_nodes(const Value& nodes, const Settings& settings);

// Amounts by short name, equal ones summed, in order of first appearance. Entries without a name or
// a count are left out, negative counts are 0.
struct Amount {
  std::string short_name{};
  std::int64_t count = 0;
};
// GPU amounts by short name.
struct Amounts {
  std::vector<Amount> list{};
  std::string ignored{};  // what was left out or corrected, in words; empty: nothing
};
Amounts amounts_of(const std::vector<api::ClusterGpu>& gpus);

// Returns "8x A100, 4x H200"; "" without GPUs.
std::string summary_of(const std::vector<api::ClusterGpu>& gpus);

}  // namespace athanor::hearth
