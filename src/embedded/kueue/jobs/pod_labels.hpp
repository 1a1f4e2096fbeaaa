// SPDX-License-Identifier: Apache-2.0
// What the labels of gated pods say of their Workload (docs/spec/kueue.md 10.1). Pure.
#pragma once

#include <string>
#include <string_view>

#include "embedded/kueue/jobs/pods.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

// Makes what the labels of the first living pod say of its place in the queue the Workload's.
// Returns true if something is written.
bool follow_labels(Plan& plan, const View& view, const PodGroup& group, const Object& workload);

// Adds an event about each pod.
void emit_for_pods(Plan& plan, const PodGroup& group, std::string_view reason,
                   const std::string& note);
// Takes Kueue's finalizer off the Workload.
void drop_workload(Plan& plan, const Object& workload);

}  // namespace athanor::kueue::jobs
