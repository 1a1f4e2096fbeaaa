// SPDX-License-Identifier: Apache-2.0
// The NUMA stack in a lab.
#include "systems/numa/system.hpp"

#include <fmt/format.h>

#include "kube/json.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/node_profile.hpp"
#include "systems/numa/node_state.hpp"
#include "systems/numa/operators.hpp"

namespace athanor::numa {
namespace {

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
  if (!settings.emulate_openshift) {
    return {};
  }
  Value version = make(kClusterVersion, "version");
  version.set("spec", Value::object({{"clusterID", "00000000-0000-4000-8000-000000000000"}}));
  Value infrastructure = make(kInfrastructure, "cluster");
  infrastructure.set("spec", Value::object());
  Value server = make(kApiServer, "cluster");
  server.set("spec", Value::object());
  return {version, infrastructure, server, pool("master"), pool("worker")};
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
