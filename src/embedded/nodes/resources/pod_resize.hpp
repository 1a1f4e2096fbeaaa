// SPDX-License-Identifier: Apache-2.0
// In-place resize: which resources a pod has on its node, and whether it may have those that its
// spec asks for.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Returns the resources of the pod's containers by name.
Value pod_resources(const Object& pod);
// Returns the pod with these resources in the place of its containers' own.
Object with_resources(const Object& pod, const Value& resources);
// Returns the pod as its node runs it: while a resize is pending, with the resources of its status.
Object granted_pod(const Object& pod);

// The answer to a pod whose spec asks for other resources than it has.
struct ResizeAnswer {
  std::string reason{};            // empty: granted; else that of the condition PodResizePending
  std::string message{};           // of the condition, in a kubelet's words
  Value restarts = Value::list();  // names of containers that restart for it
};
// Decides on the resize of a pod that has the resources `granted`. A request that waits is decided
// again when pods of the node change: the highest priority first, then the oldest. O(pods of the
// node).
ResizeAnswer answer_resize(const View& view, const Object& pod, const Value& granted);

// Returns the index that answer_resize() reads.
Index node_pods_index();

}  // namespace athanor::nodes
