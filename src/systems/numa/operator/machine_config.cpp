// SPDX-License-Identifier: Apache-2.0
// MachineConfigs of pools.
#include "systems/numa/operator/machine_config.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/digest.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/owned.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kPolicy =
    "(block rte\n"
    "  (type process)\n"
    "  (roletype system_r process)\n"
    "  (typeattributeset domain (process))\n"
    "  (allow process kubelet_var_lib_t (sock_file (open getattr read write)))\n"
    "  (allow process container_runtime_t (unix_stream_socket (connectto))))\n";
constexpr std::string_view kUnit =
    "[Unit]\nDescription=Install the SELinux policy of the exporter\nBefore=kubelet.service\n\n"
    "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/sbin/semodule -i "
    "/etc/selinux/rte.cil\n\n[Install]\nWantedBy=multi-user.target\n";

Value labels_of(const Pool& pool) {
  const Value& labels = pool.object->spec()["machineConfigSelector"]["matchLabels"];
  return labels.empty() ? Value::object({{"machineconfiguration.openshift.io/role", pool.name}})
                        : labels;
}

Value manifest(const Pool& pool) {
  const Value file = Value::object(
      {{"path", "/etc/selinux/rte.cil"},
       {"mode", 420},
       {"overwrite", true},
       {"contents", Value::object({{"source", "data:text/plain;charset=utf-8;base64," +
                                                  base64_encode(kPolicy)}})}});
  const Value unit = Value::object(
      {{"name", "rte-selinux-policy-install.service"}, {"enabled", true}, {"contents", kUnit}});
  const Value ignition =
      Value::object({{"ignition", Value::object({{"version", "3.2.0"}})},
                     {"storage", Value::object({{"files", Value::list({file})}})},
                     {"systemd", Value::object({{"units", Value::list({unit})}})}});
  return Value::object({{"apiVersion", "machineconfiguration.openshift.io/v1"},
                        {"kind", "MachineConfig"},
                        {"metadata", Value::object({{"name", machine_config_name(pool.name)},
                                                    {"labels", labels_of(pool)}})},
                        {"spec", Value::object({{"config", ignition}})}});
}

}  // namespace

std::string machine_config_name(std::string_view pool) {
  return fmt::format("51-numaresourcesoperator-{}", pool);
}

Result<bool> sync_machine_config(const View& view, const Object& owner, const Pool& pool,
                                 Plan& plan) {
  if (pool.object->spec()["machineConfigSelector"].is_null()) {
    return true;
  }
  const std::string name = machine_config_name(pool.name);
  const bool wanted = pool.custom_policy();
  if (wanted) {
    ATHANOR_TRY(const auto selector,
                LabelSelector::from_value(pool.object->spec()["machineConfigSelector"]));
    if (!selector.matches(labels_of(pool))) {
      return Error::bad_request(
          fmt::format("machine config \"{}\" labels does not match the "
                      "machine config pool \"{}\" machine config selector",
                      name, pool.name));
    }
    apply_owned(view, kExporterApplier, kMachineConfig, manifest(pool), owner, plan);
  } else if (const auto known = view.get(kMachineConfig, {"", name})) {
    plan.then(Delete{.target = {&kMachineConfig, known->key()},
                     .guard = {.uid = std::string(known->uid())}});
  }
  const Value& status = pool.object->status();
  const auto sources = status["configuration"]["source"].items();
  const bool listed = std::ranges::any_of(
      sources, [&](const Value& source) { return source["name"].as_string() == name; });
  return listed == wanted && !condition_is(status["conditions"], "Updated", "False");
}

}  // namespace athanor::numa
