// SPDX-License-Identifier: Apache-2.0
// The reconcile of NUMAResourcesOperator (docs/spec/numa.md 6).
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/cluster_tls.hpp"
#include "systems/numa/operator/conditions.hpp"
#include "systems/numa/operator/log_level.hpp"
#include "systems/numa/operator/machine_config.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/operator/owned.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kPoolWait = std::chrono::seconds(60);
constexpr Duration kSetWait = std::chrono::seconds(5);
constexpr const char* kTopologyAnnotation = "config.numa-operator.openshift.io/nrt-api-definition";
constexpr const char* kPoolsFailed = "FailedMCSync";
constexpr const char* kPoolsFailure = "Failed to set up machine configuration for worker nodes";
constexpr const char* kDaemonSetsFailed = "FailedRTECreate";
constexpr const char* kDaemonSetsFailure = "Failed to create Resource-Topology-Exporter DaemonSets";

class ExporterRun {
 public:
  ExporterRun(const View& view, Object object, Instant now)
      : view_(view),
        object_(std::move(object)),
        now_(now),
        settings_(settings_of(view.config("numa"))),
        spec_(api::decode<OperatorSpec>(object_.spec())) {}

  Plan run() {
    if (object_.name() != kOperatorName) {
      return degrade(
          "IncorrectNUMAResourcesOperatorResourceName",
          fmt::format("incorrect NUMAResourcesOperator resource name: {}", object_.name()));
    }
    if (object_.annotation(kPauseReconciliation) == "enabled") {
      return Plan::done();
    }
    if (settings_.emulated) {
      take_log_level(object_, plan_);
    }
    if (!spec_.image_spec.empty() && settings_.exporter_image_restriction) {
      return degrade("CustomUserImage",
                     fmt::format("custom operand image is not supported: {}", spec_.image_spec));
    }
    platform_ = platform_of(view_, settings_);
    if (platform_ == Platform::Kubernetes && settings_.strict_platform) {
      return degrade("ValidationErrorUnderNodeGroups", "unsupported platform");
    }
    pools_ = pools_of(view_, object_, spec_, platform_);
    if (pools_.refusal) {
      return degrade(pools_.refusal->reason, pools_.refusal->message);
    }
    note_paused_pools();
    if (object_.annotation(kTopologyAnnotation) != "cluster") {
      const Kind& kind = kTopologyKind;
      const bool missing = !view_.get(api::kCustomResourceDefinition,
                                      {"", fmt::format("{}.{}", kind.plural, kind.group)});
      apply_owned(view_, kExporterApplier, api::kCustomResourceDefinition,
                  api::crd_manifest(topology_crd()), object_, plan_);
      if (report_refusal("FailedCRDInstall", "Failed to install Node Resource Topology CRD")) {
        return std::move(plan_);
      }
      if (missing) {
        emit("Normal", "SuccessfulCRDInstall", "Node Resource Topology CRD installed");
      }
    }
    const auto waiting = machine_configs();
    if (!waiting.ok()) {
      report(waiting.error(), kPoolsFailed, kPoolsFailure);
      return std::move(plan_);
    }
    if (report_refusal(kPoolsFailed, kPoolsFailure)) {
      return std::move(plan_);
    }
    if (!waiting->empty()) {
      write_status(State::progressing(*waiting), {});
      plan_.wake_at(now_ + kPoolWait);
      return std::move(plan_);
    }
    configured_ = true;
    if (waited_for_pool()) {
      emit("Normal", "SuccessfulMCSync", "Enabled machine configuration for worker nodes");
    }
    clean_up();
    for (const Value& object : exporter_objects(settings_, platform_)) {
      apply_owned(view_, kExporterApplier, kind_of(object), object, object_, plan_);
    }
    if (!daemon_sets()) {
      return std::move(plan_);
    }
    const Value service = exporter_service(settings_);
    apply_owned(view_, kExporterApplier, kind_of(service), service, object_, plan_);
    if (report_refusal(kDaemonSetsFailed, kDaemonSetsFailure)) {
      return std::move(plan_);
    }
    finish();
    return std::move(plan_);
  }

 private:
  Plan degrade(std::string reason, std::string message) {
    plan_.then(status_step(Value::object(
        {{"conditions",
          conditions_of(object_, State::degraded(std::move(reason), std::move(message)), paused_,
                        now_)}})));
    return std::move(plan_);
  }

  [[nodiscard]] Status status_step(Value status) const {
    return Status{.target = {&kOperatorKind, object_.key()},
                  .status = std::move(status),
                  .guard = {.uid = std::string(object_.uid())}};
  }

  // Told once: the conditions say whether the state is a new one (docs/spec/numa.md 6.8).
  void emit(const char* type, const char* reason, std::string note) {
    plan_.then(Emit{.about = {&kOperatorKind, object_.key()},
                    .about_uid = std::string(object_.uid()),
                    .type = type,
                    .reason = reason,
                    .note = std::move(note)});
  }

  [[nodiscard]] bool was(const char* type) const {
    return condition_is(object_.status()["conditions"], type, "True");
  }

  [[nodiscard]] bool waited_for_pool() const {
    const std::string message =
        find_condition(object_.status()["conditions"], "Progressing")["message"].str();
    return was("Progressing") && std::ranges::any_of(pools_.pools, [&](const Pool& pool) {
             return message == fmt::format("{} is updating", pool.name);
           });
  }

  void note_paused_pools() {
    if (platform_ != Platform::OpenShift) {
      return;
    }
    std::set<std::string> names;
    for (const Pool& pool : pools_.pools) {
      if (pool.object && pool.object->spec()["paused"].as_bool()) {
        names.insert(pool.name);
      }
    }
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    paused_.status = names.empty() ? "False" : "True";
    paused_.message = names.empty() ? "" : "detected paused MCPs: " + list;
  }

  // The message to wait with, as long as a pool is not up to date; else empty.
  Result<std::string> machine_configs() {
    if (platform_ != Platform::OpenShift) {
      return std::string();
    }
    for (const Pool& pool : pools_.pools) {
      if (!pool.object || pool.object->spec()["paused"].as_bool()) {
        continue;
      }
      ATHANOR_TRY(const bool done, sync_machine_config(view_, object_, pool, plan_));
      if (!done) {
        return fmt::format("{} is updating", pool.name);
      }
    }
    return std::string();
  }

  // Objects of pools that are gone.
  void clean_up() {
    std::set<std::string> expected;
    for (const Pool& pool : pools_.pools) {
      expected.insert(daemon_set_name(pool.name));
    }
    const Select owned{.index = "owner", .index_value = std::string(object_.uid())};
    for (const Object& set : view_.list(api::kDaemonSet, owned)) {
      if (!expected.contains(std::string(set.name())) && !set.deleting()) {
        plan_.then(Delete{.target = {&api::kDaemonSet, set.key()},
                          .guard = {.uid = std::string(set.uid())}});
      }
    }
    std::set<std::string> configs;
    for (const Pool& pool : pools_.pools) {
      configs.insert(machine_config_name(pool.name));
    }
    for (const Object& config : view_.list(kMachineConfig, owned)) {
      if (!configs.contains(std::string(config.name())) && !config.deleting()) {
        plan_.then(Delete{.target = {&kMachineConfig, config.key()},
                          .guard = {.uid = std::string(config.uid())}});
      }
    }
  }

  // False: the plan ends here, with a status.
  bool daemon_sets() {
    std::string waiting;
    for (const Pool& pool : pools_.pools) {
      if (pool.object && pool.object->spec()["nodeSelector"].is_null()) {
        report(Error::bad_request(fmt::format(
                   "the machine config pool \"{}\" does not have node selector", pool.name)),
               kDaemonSetsFailed, kDaemonSetsFailure);
        return false;
      }
      const Key key{settings_.ns, daemon_set_name(pool.name)};
      const auto config = view_.get(api::kConfigMap, key);
      Value set = exporter_daemon_set(settings_, platform_, spec_, pool,
                                      config ? config_hash(config->body()["data"]) : "");
      add_tls_flags(tls_profile_of(view_, platform_), "--metrics-", set);
      apply_owned(view_, kExporterApplier, api::kDaemonSet, std::move(set), object_, plan_);
      if (!waiting.empty()) {
        continue;
      }
      if (is_ready(key)) {
        ready_.push_back(&pool);
      } else {
        waiting = fmt::format("{}/{} is updating", key.ns, key.name);
      }
    }
    if (report_refusal(kDaemonSetsFailed, kDaemonSetsFailure)) {
      return false;
    }
    if (!waiting.empty()) {
      write_status(State::progressing(waiting), {});
      plan_.wake_at(now_ + kSetWait);
      return false;
    }
    return true;
  }

  // True: an object could not be written, and the status says why. `reason` and `failure` are those
  // of the event.
  bool report_refusal(const char* reason, std::string_view failure) {
    const auto error = drop_refused(view_, now_, plan_);
    if (error) {
      report(*error, reason, failure);
    }
    return error.has_value();
  }

  void report(const Error& error, const char* reason, std::string_view failure) {
    if (!was("Degraded")) {
      emit("Warning", reason, fmt::format("{}: {}", failure, error.message));
    }
    write_status(State::degraded("InternalError", error.message), {});
  }

  [[nodiscard]] bool is_ready(const Key& key) const {
    const auto set = view_.get(api::kDaemonSet, key);
    return set && set->status()["observedGeneration"].as_int() >= set->generation() &&
           set->status()["desiredNumberScheduled"].as_int() ==
               set->status()["numberReady"].as_int();
  }

  void finish() {
    if (!was("Available")) {
      emit("Normal", "SuccessfulRTECreate", "Created Resource-Topology-Exporter DaemonSets");
    }
    Value groups = Value::list();
    for (const Pool& pool : pools_.pools) {
      groups.push_back(Value::object(
          {{"daemonsets",
            Value::object({{"namespace", settings_.ns}, {"name", daemon_set_name(pool.name)}})},
           {"config", pool.config.to_value()},
           {"selector", pool.name}}));
    }
    write_status(pools_.tolerable
                     ? State::degraded(pools_.tolerable->reason, pools_.tolerable->message)
                     : State::available(),
                 std::move(groups));
  }

  void write_status(const State& state, Value groups) {
    Value sets = Value::list();
    Value related = Value::list();
    const auto relate = [&](std::string_view group, std::string_view name,
                            std::string_view resource) {
      related.push_back(Value::object({{"group", group}, {"name", name}, {"resource", resource}}));
    };
    relate("", settings_.ns, "namespaces");
    relate("machineconfiguration.openshift.io", "", "kubeletconfigs");
    relate("machineconfiguration.openshift.io", "", "machineconfigs");
    relate("topology.node.k8s.io", "", "noderesourcetopologies");
    for (const Pool* pool : ready_) {
      const std::string name = daemon_set_name(pool->name);
      sets.push_back(Value::object({{"namespace", settings_.ns}, {"name", name}}));
      related.push_back(Value::object({{"group", "apps"},
                                       {"name", name},
                                       {"namespace", settings_.ns},
                                       {"resource", "daemonsets"}}));
    }
    Value status = Value::object({{"conditions", conditions_of(object_, state, paused_, now_)},
                                  {"daemonsets", std::move(sets)},
                                  {"relatedObjects", std::move(related)}});
    if (platform_ == Platform::OpenShift) {
      Value pools = Value::list();
      for (const Pool& pool : pools_.pools) {
        Value entry = Value::object({{"name", pool.name}});
        if (settings_.pool_conditions && pool.object) {
          entry.set("conditions", pool.object->status()["conditions"]);
        }
        if (configured_) {
          entry.set("config", pool.config.to_value());
        }
        pools.push_back(std::move(entry));
      }
      status.set("machineconfigpools", std::move(pools));
    }
    if (groups.is_list()) {
      status.set("nodeGroups", std::move(groups));
    }
    plan_.then(status_step(std::move(status)));
  }

  const View& view_;
  Object object_;
  Instant now_;
  Settings settings_;
  OperatorSpec spec_;
  Platform platform_ = Platform::Kubernetes;
  Pools pools_{};
  ExtraCondition paused_{.type = "MachineConfigPoolPaused"};
  std::vector<const Pool*> ready_{};
  bool configured_ = false;
  Plan plan_{};
};

Plan reconcile_exporter(const View& view, const Key& key, Instant now) {
  const auto object = view.get(kOperatorKind, key);
  if (!object || object->deleting()) {
    return Plan::done();
  }
  return ExporterRun(view, *object, now).run();
}

}  // namespace

const Operator& exporter_operator() {
  static const Kind* const kReads[] = {&kOperatorKind,
                                       &kMachineConfigPool,
                                       &kMachineConfig,
                                       &kClusterVersion,
                                       &kInfrastructure,
                                       &api::kDaemonSet,
                                       &api::kConfigMap,
                                       &api::kCustomResourceDefinition,
                                       &api::kServiceAccount,
                                       &api::kService,
                                       &api::kClusterRole,
                                       &kRole,
                                       &kRoleBinding,
                                       &kClusterRoleBinding,
                                       &kNetworkPolicy,
                                       &kSecurityContextConstraints,
                                       &kOpenShiftServer,
                                       &api::kValidatingPolicy,
                                       &api::kValidatingPolicyBinding};
  static const Kind* const kWrites[] = {&kOperatorKind,          &kMachineConfig,
                                        &api::kDaemonSet,        &api::kCustomResourceDefinition,
                                        &api::kServiceAccount,   &api::kService,
                                        &api::kClusterRole,      &kRole,
                                        &kRoleBinding,           &kClusterRoleBinding,
                                        &kNetworkPolicy,         &kSecurityContextConstraints,
                                        &api::kValidatingPolicy, &api::kValidatingPolicyBinding};
  static const Kind* const kSmall[] = {&kMachineConfigPool, &kClusterVersion};
  constexpr std::string_view kOwned = "create patch delete";
  static const Access kAccess[] = {{&kOperatorKind, "patch", "status"},
                                   {&kOperatorKind, "update", "finalizers"},
                                   {&api::kEvent, "create patch"},
                                   {&kMachineConfig, kOwned},
                                   {&api::kDaemonSet, kOwned},
                                   {&api::kCustomResourceDefinition, kOwned},
                                   {&api::kServiceAccount, kOwned},
                                   {&api::kService, kOwned},
                                   {&api::kClusterRole, kOwned},
                                   {&kRole, kOwned},
                                   {&kRoleBinding, kOwned},
                                   {&kClusterRoleBinding, kOwned},
                                   {&kNetworkPolicy, kOwned},
                                   {&kSecurityContextConstraints, kOwned},
                                   {&api::kValidatingPolicy, kOwned},
                                   {&api::kValidatingPolicyBinding, kOwned}};
  static const Operator kOperator{.name = kExporterApplier,
                                  .primary = &kOperatorKind,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_exporter,
                                  .small = kSmall,
                                  .access = kAccess,
                                  .event_source = "numaresources-controller"};
  return kOperator;
}

}  // namespace athanor::numa
