// SPDX-License-Identifier: Apache-2.0
// The NUMA stack in a lab.
#include "systems/numa/system.hpp"

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "kube/json.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/manifests.hpp"
#include "systems/numa/node_profile.hpp"
#include "systems/numa/node_state.hpp"
#include "systems/numa/operators.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kGrants = "numaresources-controller-manager";
constexpr const char* kCellCount = "numa.hardware.openshift-kni.io/cell-count";

Value make(const Kind& kind, const char* name) {
  return Value::object({{"apiVersion", kind.api_version()},
                        {"kind", kind.name},
                        {"metadata", Value::object({{"name", name}})}});
}

Value pool(const std::string& name) {
  Value object = make(kMachineConfigPool, name.c_str());
  object.set_path(
      {"metadata", "labels"},
      Value::object({{"pools.operator.machineconfiguration.openshift.io/" + name, ""}}));
  object.set(
      "spec",
      Value::object(
          {{"nodeSelector",
            Value::object(
                {{"matchLabels", Value::object({{"node-role.kubernetes.io/" + name, ""}})}})},
           {"machineConfigSelector",
            Value::object({{"matchLabels", Value::object({{"machineconfiguration.openshift.io/role",
                                                           name}})}})}}));
  return object;
}

// A role cannot be granted by someone who lacks it (docs/spec/numa.md 5.3): all that the operands'
// roles hold.
std::vector<Value> granted_rights(const Settings& settings) {
  Value rules = Value::list();
  std::vector<Value> all = exporter_objects(settings, Platform::OpenShift);
  for (Value& object : scheduler_objects(settings, {}, {}, false)) {
    all.push_back(std::move(object));
  }
  for (const Value& object : all) {
    for (const Value& rule : object["rules"].items()) {
      rules.push_back(rule);
    }
  }
  Value subjects = Value::list();
  for (const Operator* op : numa_operators()) {
    subjects.push_back(
        Value::object({{"kind", "User"},
                       {"apiGroup", kRole.group},
                       {"name", fmt::format("system:serviceaccount:kube-system:{}", op->name)}}));
  }
  Value role = make(api::kClusterRole, kGrants);
  role.set("rules", std::move(rules));
  Value binding = make(kClusterRoleBinding, kGrants);
  binding.set(
      "roleRef",
      Value::object({{"apiGroup", kRole.group}, {"kind", "ClusterRole"}, {"name", kGrants}}));
  binding.set("subjects", std::move(subjects));
  return {std::move(role), std::move(binding)};
}

}  // namespace

std::vector<const api::CustomKind*> lab_kinds(const Settings& settings) {
  std::vector<const api::CustomKind*> kinds(numa_kinds().begin(), numa_kinds().end());
  if (settings.emulate_openshift) {
    kinds.insert(kinds.end(), openshift_kinds().begin(), openshift_kinds().end());
  }
  return kinds;
}

std::vector<const Operator*> lab_operators() {
  std::vector<const Operator*> operators(numa_operators().begin(), numa_operators().end());
  operators.push_back(&exporter_emulation());
  operators.push_back(&machine_config_emulation());
  return operators;
}

std::vector<Value> lab_objects(const Settings& settings) {
  std::vector<Value> objects = granted_rights(settings);
  if (!settings.emulate_openshift) {
    return objects;
  }
  Value version = make(kClusterVersion, "version");
  version.set("spec", Value::object({{"clusterID", "00000000-0000-4000-8000-000000000000"}}));
  Value infrastructure = make(kInfrastructure, "cluster");
  infrastructure.set("spec", Value::object());
  Value server = make(kApiServer, "cluster");
  server.set("spec", Value::object());
  for (Value* object : {&version, &infrastructure, &server}) {
    objects.push_back(std::move(*object));
  }
  objects.push_back(pool("master"));
  objects.push_back(pool("worker"));
  return objects;
}

Result<Value> node_annotations(const Value& zones) {
  ATHANOR_TRY(const NodeProfile profile, read_profile(zones));
  static_cast<void>(profile);
  return Value::object({{kProfileAnnotation, json::print(zones)}});
}

Result<Value> node_labels(const Value& zones) {
  ATHANOR_TRY(const NodeProfile profile, read_profile(zones));
  return Value::object({{kCellCount, fmt::to_string(profile.zones.size())}});
}

}  // namespace athanor::numa
