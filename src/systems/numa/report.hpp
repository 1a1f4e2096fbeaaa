// SPDX-License-Identifier: Apache-2.0
// Reports of zones: an overview with bars, and why a pod fits on a node or not
// (docs/spec/numa.md 17, row 10).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "systems/numa/scheduling/session.hpp"

namespace athanor::numa {

using Row = std::vector<std::string>;

// Rows NODE, ZONE, RESOURCE, FREE, ALLOCATABLE, USE: one for each resource of each zone.
Row overview_header();
// Returns the rows of all topologies, in their order.
std::vector<Row> overview(std::span<const Object> topologies);
// Returns "[####......]": the used part in tenths, rounded up, so that anything in use shows.
std::string bar(std::int64_t used, std::int64_t all);

// The scheduler's knowledge of a node besides its object.
struct NodeFacts {
  NodeView believed{};        // the zones less the pods that the object does not account
  std::size_t residents = 0;  // pods with resources of their own
  std::size_t accounted = 0;  // those that the object accounts
};

// Lines: the pod's class, the node's policy and the state of its data, every decision of the
// filter, the verdict, the parts of the score and the score. No topology: the node has no
// NodeResourceTopology, or its data are not used.
std::vector<std::string> explain(const Object& pod, const Object& node, const NodeFacts& facts,
                                 const Profile& profile);

// Answer of fit_on().
struct FitAnswer {
  bool fits = false;
  std::string zone{};    // of the first container; empty: the node's policy selects none
  std::string reason{};  // "fits", else the scheduler's reason
};
// Checks the request against the node's zones with the profile's options, then against the node as
// a whole. `taken`: requests of the node's pods. A node without zones never fits.
FitAnswer fit_on(const PodRequest& request, const Object& node, const NodeView& known,
                 const Amounts& taken, const Profile& profile);

}  // namespace athanor::numa
