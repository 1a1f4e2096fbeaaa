// SPDX-License-Identifier: Apache-2.0
// The maps of MIG slices and NUMA zones, and nodes, for the console (docs/spec/dashboard.md B4.7 to
// B4.9). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "console/model/row_table.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns {nodes: [{node, gpus}], lost, problems, totals, slots, waiting}.
Value slice_map(const Facts& facts);
// Returns {nodes: [{node, policy, scope, zones, pods, staleAt}], problems}.
Value zone_map(const Facts& facts);
// Returns such a map with `stale` and the problems of nodes that are out of date at that time.
Value zones_at(const Value& map, Instant now);

// Returns the zone ("node-0") of each pod of a node that its NodeResourceTopology lists.
std::map<Key, std::string> zones_of_pods(const Facts& facts, std::string_view node);

// Columns of GET /nodes.
const ListShape& node_shape();
std::vector<Value> node_rows(const Facts& facts);
// Returns a pod with its containers and placement.
Value pod_value(const Object& pod);

}  // namespace athanor::console
