// SPDX-License-Identifier: Apache-2.0
// Findings of the configuration checker (docs/spec/numa.md 13.1).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// One setting that differs from what is expected.
struct Finding {
  std::string node{};
  std::string area{};  // "kubelet" or "cluster"
  std::string component{};
  std::string setting{};
  std::string expected{};
  std::string detected{};
};
// Returns the finding as a line of text or as JSON.
std::string text_of(const Finding& finding);
Value to_value(const Finding& finding);

// What is known of the cluster. nullopt: its kind is not served.
struct ClusterFacts {
  std::vector<Object> nodes{};                     // those to check
  std::map<std::string, Value> kubelet_configs{};  // by node
  std::optional<std::vector<Object>> topologies{};
  std::vector<Object> operand_pods{};  // of the exporters and the scheduler
  std::vector<Object> pods{};          // all
};

// Names of the checks: kubelets' configuration, NodeResourceTopologies, operands' pods, scheduler
// caches.
inline constexpr std::string_view kValidators[] = {"k8scfg", "nrt", "podst", "schedcache"};
// Runs the checks named in `what`; unknown names are ignored. Empty: no finding.
std::vector<Finding> validate(const ClusterFacts& facts, const std::set<std::string>& what);

// Returns the kubelet's configuration that an emulated node's profile implies; Null: no profile.
Value emulated_kubelet_config(const Object& node);

}  // namespace athanor::numa
