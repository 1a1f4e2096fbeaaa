// SPDX-License-Identifier: Apache-2.0
// Which nodes a DaemonSet's pods belong on, and what such a pod looks like.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::workloads {

// Pods carry the value of this annotation of their set under the label.
inline constexpr const char* kGenerationLabel = "pod-template-generation";
inline constexpr const char* kGenerationAnnotation = "deprecated.daemonset.template.generation";

// Whether a node is to run a daemon pod.
struct DaemonFit {
  bool start = false;  // a pod should be there
  bool stay = false;   // one that is there may go on
};
// Requires `pod_spec` as make_daemon_pod() makes it, without its node.
DaemonFit daemon_fit(const Value& pod_spec, const Object& node);

// Returns the template's spec with the tolerations every daemon has.
Value daemon_pod_spec(const Object& set);
// Returns the pod for a node: pinned by node affinity, scheduled by the scheduler.
Value make_daemon_pod(const Object& set, const std::string& name, const std::string& node,
                      const std::string& hash);
// Returns the node of a pod, or, before it is scheduled, the node it is pinned to; empty: none.
std::string node_of(const Object& pod);

}  // namespace athanor::workloads
