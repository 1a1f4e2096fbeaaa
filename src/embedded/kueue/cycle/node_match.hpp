// SPDX-License-Identifier: Apache-2.0
// Whether a pod would run on a flavor's nodes: taints, node selector, required node affinity
// (docs/spec/kueue.md 7.6).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

// Returns "untolerated taint {key value effect <nil>} in flavor f" for the first NoSchedule or
// NoExecute taint that neither the pod nor the flavor tolerates; else empty.
std::string untolerated_taint(const Flavor& flavor, const Value& pod_spec);

// The node selector and the required affinity of a pod, read once for many flavors.
class FlavorSelector {
 public:
  // Counts only `known_keys`. Valid as long as the pod.
  FlavorSelector(const Value& pod_spec, const std::set<std::string, std::less<>>& known_keys);
  [[nodiscard]] bool matches(const Flavor& flavor) const;

 private:
  std::vector<const Member*> labels_{};
  std::vector<LabelSelector> terms_{};  // of which one must match
  bool any_ = false;                    // the affinity says nothing about flavors
};

}  // namespace athanor::kueue
