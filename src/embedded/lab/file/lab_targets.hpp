// SPDX-License-Identifier: Apache-2.0
// Emulated target clusters of a lab: read from its file, as objects, and as users change them
// while the lab runs (docs/lab.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "embedded/lab/file/lab_reader.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// Label of a ConfigMap with the present state of a target: its name.
inline constexpr const char* kTargetLabel = "athanor.dev/emulated-target";
inline constexpr const char* kTargetSection = "emulated-target";
// The step that makes it so; its arguments are {name, nodes, faults} as in the lab file.
inline constexpr const char* kConfigureTarget = "target.configure";

// Reads the list `targets` of a lab file.
std::vector<LabTarget> read_targets(Reader& reader, const Value& list, const std::string& path);

// What a lab's targets need from the rest of the lab.
struct TargetWorld {
  std::string ns{};  // of the ConfigMaps
  // Returns the kubeconfig of a target, as text.
  std::function<std::string(const std::string& name)> kubeconfig{};
  // Returns the objects that make a target known to the systems.
  std::function<std::vector<Value>(const TargetCluster& target)> onboard{};
};
// Returns the objects of a lab's targets: the namespace, one ConfigMap for each with its nodes and
// faults, and what makes those known that the lab file onboards.
std::vector<Value> target_objects(const Lab& lab, const TargetWorld& world);

// Returns the target that the arguments of kConfigureTarget say; the error lists what is wrong.
Result<targets::Target> configured_target(const Value& args);
// Returns these arguments by the `nodes` and `faults` of a target's ConfigMap; the error lists what
// is wrong.
Result<Value> configuration_of(const Object& config_map);

// Carries edits of those ConfigMaps to the targets: of those in the namespace that the section
// kTargetSection of its settings names as "namespace".
const Operator& target_operator();

}  // namespace athanor::lab
