// SPDX-License-Identifier: Apache-2.0
// Plain pods and groups of pods as the queueing sees them (docs/spec/kueue.md 10.3). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue::jobs {

// Returns true if the pod has the scheduling gate kueue.x-k8s.io/admission.
bool is_gated(const Object& pod);
// True if no container of the pod runs or will run.
bool is_over(const Object& pod);
// Returns true if the pod is neither over nor being deleted.
bool is_living(const Object& pod);

// The role of a pod in its group: pods of one role are one pod set. "main" of a single pod.
std::string role_of(const Object& pod);
// What the role is computed from at create.
std::string role_hash(const Value& pod_spec);

// Pods that wait together, by name.
struct PodGroup {
  std::string name{};  // empty: a single pod
  std::int64_t total = 1;
  std::vector<Object> pods{};

  [[nodiscard]] std::vector<Object> living() const;
  [[nodiscard]] bool all_over() const;
  [[nodiscard]] std::int64_t succeeded() const;
};
// Makes the group of these pods; its total is that of their annotation, else the number of pods.
PodGroup group_of(std::vector<Object> pods);

// spec.podSets of the Workload of these pods.
Value pod_sets_of(const PodGroup& group);
// status.reclaimablePods: what succeeded of each role; Null: nothing.
Value reclaimable_of(const PodGroup& group);

}  // namespace athanor::kueue::jobs
