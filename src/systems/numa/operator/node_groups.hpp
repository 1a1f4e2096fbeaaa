// SPDX-License-Identifier: Apache-2.0
// Groups of nodes of a NUMAResourcesOperator: their checks (docs/spec/numa.md 6.2) and the pools
// that they select.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"

namespace athanor::numa {

// Platforms that the operator supports (docs/spec/numa.md 5.2).
enum class Platform : unsigned char { Kubernetes, OpenShift, HyperShift };
// Returns the settings' platform, else that of the kinds that the cluster serves (5.2).
Platform platform_of(const View& view, const Settings& settings);
// Returns the name: "Kubernetes", "OpenShift" or "HyperShift".
const char* text_of(Platform platform);

// A group's settings with every default filled in.
struct GroupConfig {
  std::string pods_fingerprinting = "EnabledExclusiveResources";
  std::string info_refresh_mode = "Periodic";
  std::string info_refresh_period = "10s";
  std::string info_refresh_pause = "Disabled";
  std::vector<Value> tolerations{};

  static GroupConfig of(const NodeGroup& group);
  [[nodiscard]] Value to_value() const;
};

// One pool of a group: gets one DaemonSet.
struct Pool {
  std::string name{};
  std::optional<Object> object{};  // MachineConfigPool, on OpenShift
  const NodeGroup* group = nullptr;
  GroupConfig config{};
  [[nodiscard]] bool custom_policy() const;
};

// Reason and message of a Degraded condition.
struct Refusal {
  std::string reason{};
  std::string message{};
};

// Pools of all groups, or why the groups are refused.
struct Pools {
  std::vector<Pool> pools{};
  std::optional<Refusal> refusal{};    // nothing is deployed
  std::optional<Refusal> tolerable{};  // everything is deployed, and the object ends so
};

// Checks the groups and finds their pools. `spec` outlives the result.
Pools pools_of(const View& view, const Object& object, const OperatorSpec& spec, Platform platform);

// Prints as Go prints a metav1.LabelSelector.
std::string selector_text(const Value& selector);

}  // namespace athanor::numa
