// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/numa/emulation/node_profile.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/model/conversion.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/operator_process.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/scheduling/instruments.hpp"
#include "systems/numa/scheduling/session.hpp"
#include "systems/numa/verb.hpp"

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

// Kinds of every platform: with them the rights are known before the cluster is.
std::vector<Value> granted_roles() {
  std::vector<Value> roles = roles_among(exporter_objects(Settings(), Platform::OpenShift));
  std::ranges::move(roles_among(scheduler_objects(Settings(), {}, {}, false)),
                    std::back_inserter(roles));
  return roles;
}

// A role cannot be granted by someone who lacks it (docs/spec/numa.md 5.3): all that the operands'
// roles hold.
std::vector<Value> granted_rights() {
  Value rules = Value::list();
  for (const Value& role : granted_roles()) {
    for (const Value& rule : role["rules"].items()) {
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

// OpenShift's kinds are served where OpenShift is emulated.
std::vector<const api::CustomKind*> kinds(const Value& settings) {
  std::vector<const api::CustomKind*> kinds(numa_kinds().begin(), numa_kinds().end());
  if (settings_of(settings).emulate_openshift) {
    kinds.insert(kinds.end(), openshift_kinds().begin(), openshift_kinds().end());
  }
  return kinds;
}

Result<Value> read(const SettingsSource& source) {
  ATHANOR_TRY(const Settings settings, parse_settings(source.variables, source.in_lab));
  Value section = to_value(settings);
  // Settings of upstream's flags (operator_process.hpp).
  if (const auto flags = source.documents.find(system().name); flags != source.documents.end()) {
    for (const Member& member : flags->second.members()) {
      section.set(member.key(), member.value);
    }
  }
  return section;
}

Settings settings_in(const SystemConfig& config) {
  const auto section = config.find("numa");
  return section == config.end() ? Settings() : settings_of(section->second);
}

std::vector<std::string> lab_namespaces(const SystemConfig& config) {
  return {settings_in(config).ns};
}

// The operators' rights, the pools, and the facts that say which platform it is.
std::vector<Value> lab_objects(const LabFacts& lab) {
  const Settings settings = settings_in(lab.config);
  std::vector<Value> objects = granted_rights();
  if (!settings.emulate_openshift) {
    return objects;
  }
  Value version = make(kClusterVersion, "version");
  version.set("spec", Value::object({{"clusterID", "00000000-0000-4000-8000-000000000000"}}));
  Value infrastructure = make(kInfrastructure, "cluster");
  infrastructure.set("spec", Value::object());
  Value server = make(kOpenShiftServer, "cluster");
  server.set("spec", Value::object());
  Value scheduler = make(kOpenShiftScheduler, "cluster");
  scheduler.set("spec", Value::object({{"mastersSchedulable", false}}));
  Value machine_config = make(kClusterOperator, "machine-config");
  machine_config.set("spec", Value::object());
  for (Value* object : {&version, &infrastructure, &server, &scheduler, &machine_config}) {
    objects.push_back(std::move(*object));
  }
  objects.push_back(pool("master"));
  objects.push_back(pool("worker"));
  return objects;
}

// The zones of an emulated node.
Result<LabNodeExtra> read_zones(const Value& zones, const Value& /*settings*/) {
  ATHANOR_TRY(const NodeProfile profile, read_profile(zones));
  return LabNodeExtra{.labels = {{kCellCount, fmt::to_string(profile.zones.size())}},
                      .annotations = {{kProfileAnnotation, json::print(zones)}}};
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "numa",
      .summary = "zones accounted, pods placed where they fit",
      .kinds = kinds,
      .convert = convert,
      .operators = {numa_operators().begin(), numa_operators().end()},
      .granted_roles = granted_roles,
      .optional_kinds = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig, &kClusterVersion,
                         &kInfrastructure, &kSecurityContextConstraints, &kOpenShiftServer,
                         &api::kValidatingPolicy, &api::kValidatingPolicyBinding},
      .instruments = &operator_instruments(),
      .settings = read,
      .variables = {"EXPORTER_IMAGE_RESTRICTION", "NUMA_EMULATE_OPENSHIFT", "NUMA_EXPORTER_IMAGE",
                    "NUMA_EXPORTER_PERIODS", "NUMA_MACHINE_CONFIG_DELAY",
                    "NUMA_MACHINE_CONFIG_DRAIN", "NUMA_NAMESPACE", "NUMA_PLATFORM",
                    "NUMA_PLATFORM_VERSION", "NUMA_POOL_CONDITIONS", "NUMA_STRICT_PLATFORM",
                    "SCHEDULER_IMAGE_DIGESTS", "SCHEDULER_IMAGE_VALIDATION"},
      .process = &operator_process(),
      .lease_name = "0e2a6bd3.openshift-kni.io",  // upstream's: one of both leads
      .lease_namespace = [](const Value& settings) { return settings_of(settings).ns; },
      .scheduling = {&numa_scheduling()},
      .node_hooks = {&numa_node_hooks()},
      .lab_node_members = {{.name = "numa", .read = read_zones}},
      .verbs = {numa_verb()},
      .lab_namespaces = lab_namespaces,
      .lab_objects = lab_objects};
  return kSystem;
}

const System& emulation_system() {
  static const System kSystem{
      .name = "numa-emulation",
      .summary = "emulated exporter and machine configuration",
      .stand_in = true,
      .operators = {&exporter_emulation(), &machine_config_emulation(),
                    &kubelet_config_emulation()},
      .optional_kinds = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig}};
  return kSystem;
}

}  // namespace athanor::numa
