// SPDX-License-Identifier: Apache-2.0
// What people are shown of zones: an overview with bars, and why a pod fits on a node or not
// (docs/spec/numa.md 17, row 10).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "systems/numa/scheduling/score.hpp"

namespace athanor::numa {

using Row = std::vector<std::string>;

// Rows NODE, ZONE, RESOURCE, FREE, ALLOCATABLE, USE: one for each resource of each zone.
Row overview_header();
std::vector<Row> overview(std::span<const Object> topologies);
// "[####......]": the used part in tenths, rounded up, so that anything in use shows.
std::string bar(std::int64_t used, std::int64_t all);

// Lines: the pod's class, the node's policy, every decision of the filter, the verdict and the
// score. `topology` is nullptr where the node has no NodeResourceTopology.
std::vector<std::string> explain(const Object& pod, const Object& node, const Object* topology,
                                 const Scoring& scoring);

}  // namespace athanor::numa
