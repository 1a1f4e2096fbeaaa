// SPDX-License-Identifier: Apache-2.0
// Plain pods and groups of pods as the queueing sees them (docs/spec/kueue.md 10.3). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue::jobs {

// Returns true if the pod has the scheduling gate kueue.x-k8s.io/admission.
bool is_gated(const Object& pod);
// Returns true if no container of the pod runs or will run.
bool is_over(const Object& pod);
// Returns true if the pod is neither over nor being deleted.
bool is_living(const Object& pod);
bool is_succeeded(const Object& pod);
// Returns the time after which a pod that is being deleted counts as over: its node is lost.
// nullopt: it is not being deleted.
std::optional<Instant> lost_at(const Object& pod);
// Returns true if no container of the pod runs, or its node is lost.
bool holds_nothing(const Object& pod, Instant now);

// Returns a pod's role in its group: pods of one role are one pod set. "main" of a single pod.
std::string role_of(const Object& pod);
// Returns the hash of what admission depends on: requests, ports, and what places the pod. Names,
// commands and volumes, such as that of a service account's token, do not count.
std::string role_hash(const Value& pod_spec);

// Pods that wait together, by name.
struct PodGroup {
  std::string name{};  // empty: a single pod
  std::int64_t total = 1;
  std::vector<Object> pods{};

  [[nodiscard]] std::vector<Object> living() const;
  [[nodiscard]] bool all_over() const;
  [[nodiscard]] std::int64_t succeeded() const;
  // Returns true if a pod has the annotation retriable-in-group: "false".
  [[nodiscard]] bool is_unretriable() const;
};
// Makes the group of these pods; its total is that of their annotation, else the number of pods.
PodGroup group_of(std::vector<Object> pods);

// Pods of one role, compared with the count of their pod set.
struct RoleMembers {
  std::vector<const Object*> excess{};     // the youngest living ones beyond the count
  std::vector<const Object*> replaced{};   // failed ones whose place another pod has
  std::vector<const Object*> startable{};  // gated ones that may start
  std::int64_t absent = 0;                 // the count without pods that run, may run or succeeded
};
// Sorts the pods of a role; pointers are into `group`.
RoleMembers members_of(const PodGroup& group, std::string_view role, std::int64_t count);

// Returns spec.podSets of the Workload of these pods.
Value pod_sets_of(const PodGroup& group);
// Returns the same by the first living pod alone, as if all pods of the group were like it.
// Requires one.
Value pod_set_of_first(const PodGroup& group);
// Returns status.reclaimablePods: what succeeded of each role; Null: nothing.
Value reclaimable_of(const PodGroup& group);

}  // namespace athanor::kueue::jobs
