// SPDX-License-Identifier: Apache-2.0
// The reconcile of NUMAResourcesScheduler (docs/spec/numa.md 8).
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/numa/model/image.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/cluster_tls.hpp"
#include "systems/numa/operator/conditions.hpp"
#include "systems/numa/operator/log_level.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/operator/operators.hpp"
#include "systems/numa/operator/owned.hpp"
#include "systems/numa/operator/platform_version.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kSchedulerWait = std::chrono::seconds(5);
constexpr const char* kQosRequest = "config.numa-operator.openshift.io/scheduler-qos-request";
// Options that no upstream field has (docs/spec/numa.md 17).
constexpr const char* kRequireTopology =
    "config.numa-operator.openshift.io/scheduler-require-topology";
constexpr const char* kTrustUnfingerprinted =
    "config.numa-operator.openshift.io/scheduler-trust-unfingerprinted";
constexpr const char* kSidecarAccounting =
    "config.numa-operator.openshift.io/scheduler-sidecar-accounting";
constexpr const char* kIgnoreUnlisted =
    "config.numa-operator.openshift.io/scheduler-ignore-unlisted";
constexpr const char* kDiscardReserved =
    "config.numa-operator.openshift.io/scheduler-discard-reserved";
constexpr const char* kRestrictedPolicy =
    "config.numa-operator.openshift.io/scheduler-restricted-policy";
constexpr std::int32_t kHighlyAvailable = 3;

// Reasons of DedicatedInformerActive.
constexpr const char* kDedicatedStalls =
    "schedulerInformer Dedicated counts pods that have ended, which these kubelets no longer list: "
    "fingerprints of nodes with such pods differ, and these nodes get no further pods; use Shared";

class SchedulerRun {
 public:
  SchedulerRun(const View& view, Object object, Instant now)
      : view_(view),
        object_(std::move(object)),
        now_(now),
        settings_(settings_of(view.config("numa"))),
        spec_(api::decode<SchedulerSpec>(object_.spec())),
        platform_(platform_of(view_, settings_)) {}

  Plan run() {
    if (object_.name() != kSchedulerName) {
      return degrade(
          "IncorrectNUMAResourcesSchedulerResourceName",
          fmt::format("incorrect NUMAResourcesScheduler resource name: {}", object_.name()));
    }
    if (object_.annotation(kPauseReconciliation) == "enabled") {
      return Plan::done();
    }
    if (settings_.emulated) {
      take_log_level(object_, plan_);
    }
    if (settings_.scheduler_image_validation) {
      if (const auto verdict =
              check_scheduler_image(spec_.image_spec, settings_.scheduler_image_digests);
          !verdict.ok()) {
        return degrade("InvalidSchedulerImage", verdict.error().message);
      }
    }
    if (const auto problem = plan_scheduler()) {
      Plan plan = degrade("InternalError", *problem);
      plan.wake_at(now_ + kSchedulerWait);
      return plan;
    }
    for (Value& object : scheduler_objects(settings_, spec_, wanted_,
                                           object_.annotation(kQosRequest) == "guaranteed")) {
      if (object["kind"].as_string() == "Deployment") {
        add_tls_flags(tls_profile_of(view_, platform_), "--", object);
      }
      apply_owned(view_, kSchedulerApplier, kind_of(object), object, object_, plan_);
    }
    remove_old_binding();
    if (const auto error = drop_refused(view_, now_, plan_)) {
      write_status(State::degraded("InternalError", error->message));
      return std::move(plan_);
    }
    const Key key{settings_.ns, kDeploymentName};
    const auto deployment = view_.get(api::kDeployment, key);
    const bool available =
        deployment &&
        deployment->status()["observedGeneration"].as_int() >= deployment->generation() &&
        condition_is(deployment->status()["conditions"], "Available", "True");
    write_status(available
                     ? State::available()
                     : State::progressing(fmt::format("{}/{} is updating", key.ns, key.name)));
    if (!available) {
      plan_.wake_at(now_ + kSchedulerWait);
    }
    return std::move(plan_);
  }

 private:
  // Releases up to 4.16 bound the scheduler to kube-scheduler's own role (docs/spec/numa.md 8.4).
  void remove_old_binding() {
    const auto binding = view_.get(kClusterRoleBinding, {"", kDeploymentName});
    if (binding && !binding->deleting() &&
        binding->body()["roleRef"]["name"].as_string() == "system:kube-scheduler") {
      plan_.then(Delete{.target = {&kClusterRoleBinding, binding->key()},
                        .guard = {.uid = std::string(binding->uid())}});
    }
  }

  Plan degrade(std::string reason, std::string message) {
    plan_.then(status_step(Value::object(
        {{"conditions",
          conditions_of(object_, State::degraded(std::move(reason), std::move(message)), informer_,
                        now_)}})));
    return std::move(plan_);
  }

  [[nodiscard]] athanor::Status status_step(Value status) const {
    return {.target = {&kSchedulerKind, object_.key()},
            .status = std::move(status),
            .guard = {.uid = std::string(object_.uid())}};
  }

  // The problem, or nullopt.
  std::optional<std::string> plan_scheduler() {
    wanted_.name = spec_.scheduler_name.empty() ? "topo-aware-scheduler" : spec_.scheduler_name;
    if (spec_.cache_resync_period) {
      const std::string text =
          *spec_.cache_resync_period == "0" ? "0s" : *spec_.cache_resync_period;
      const auto period = parse_go_duration(text);
      if (!period.ok()) {
        return "cacheResyncPeriod: " + period.error().message;
      }
      wanted_.resync_seconds = std::chrono::round<std::chrono::seconds>(*period).count();
      // round() takes the even neighbour of a half; Go takes the one away from zero.
      if (*period - std::chrono::seconds(wanted_.resync_seconds) ==
          std::chrono::milliseconds(500)) {
        ++wanted_.resync_seconds;
      }
    }
    // Kubelets that list active pods alone go with the scheduler's own informer of pods.
    const bool active_pods_alone =
        has_fixed_kubelet(settings_.platform_version.empty() ? platform_version_of(view_, platform_)
                                                             : settings_.platform_version) ||
        (platform_ == Platform::Kubernetes && !settings_.emulated &&
         kubelets_list_active_pods(view_.list(api::kNode)));
    wanted_.shared_informer =
        spec_.scheduler_informer.empty() ? active_pods_alone : spec_.scheduler_informer == "Shared";
    informer_.status = wanted_.shared_informer ? "False" : "True";
    if (!wanted_.shared_informer && active_pods_alone) {
      informer_.message = kDedicatedStalls;
    }
    wanted_.require_topology = object_.annotation(kRequireTopology) == "enabled";
    wanted_.trust_unfingerprinted = object_.annotation(kTrustUnfingerprinted) == "enabled";
    wanted_.discard_reserved = object_.annotation(kDiscardReserved) == "enabled";
    wanted_.count_sidecars = object_.annotation(kSidecarAccounting) != "disabled";
    wanted_.ignore_unlisted = object_.annotation(kIgnoreUnlisted) == "enabled";
    if (object_.annotation(kRestrictedPolicy) == "enabled") {
      wanted_.policies.emplace_back("restricted");
    }
    return plan_replicas();
  }

  std::optional<std::string> plan_replicas() {
    const bool hosted = platform_ == Platform::HyperShift;
    const std::string role = hosted ? "worker" : "control-plane";
    const auto count = static_cast<std::int32_t>(
        std::ranges::count_if(view_.list(api::kNode), [&](const Object& node) {
          const Value* label = node.metadata()["labels"].find("node-role.kubernetes.io/" + role);
          return label != nullptr && label->as_string().empty();
        }));
    // A lab needs no control-plane nodes: its own scheduler does the work (8.3).
    const std::int32_t most = count == 0 && settings_.emulated ? 1 : count;
    if (spec_.replicas) {
      if (*spec_.replicas > most) {
        return "failed to compute scheduler replicas: explicitly set replicas count should not be "
               "greater than the number of the nodes with role " +
               role;
      }
      wanted_.replicas = *spec_.replicas;
      return std::nullopt;
    }
    if (most == 0) {
      return fmt::format(
          "failed to compute scheduler replicas: failed to compute scheduler replicas: no "
          "control-plane nodes found for platform {}",
          text_of(platform_));
    }
    wanted_.replicas = most >= kHighlyAvailable ? kHighlyAvailable : 1;
    return std::nullopt;
  }

  void write_status(const State& state) {
    const Value related = Value::list(
        {Value::object({{"group", ""}, {"name", settings_.ns}, {"resource", "namespaces"}}),
         Value::object({{"group", "apps"},
                        {"name", kDeploymentName},
                        {"namespace", settings_.ns},
                        {"resource", "deployments"}})});
    plan_.then(status_step(Value::object(
        {{"conditions", conditions_of(object_, state, informer_, now_)},
         {"deployment", Value::object({{"namespace", settings_.ns}, {"name", kDeploymentName}})},
         {"schedulerName", wanted_.name},
         {"cacheResyncPeriod", format_go_duration(std::chrono::seconds(wanted_.resync_seconds))},
         {"relatedObjects", related}})));
  }

  const View& view_;
  Object object_;
  Instant now_;
  Settings settings_;
  SchedulerSpec spec_;
  Platform platform_;
  SchedulerPlan wanted_{};
  ExtraCondition informer_{.type = "DedicatedInformerActive"};
  Plan plan_{};
};

Plan reconcile_scheduler(const View& view, const Key& key, Instant now) {
  const auto object = view.get(kSchedulerKind, key);
  if (!object || object->deleting()) {
    return Plan::done();
  }
  return SchedulerRun(view, *object, now).run();
}

}  // namespace

const Operator& scheduler_operator() {
  static const Kind* const kReads[] = {
      &kSchedulerKind,  &api::kNode,           &api::kDeployment,
      &api::kConfigMap, &api::kServiceAccount, &api::kClusterRole,
      &kRole,           &kRoleBinding,         &kClusterRoleBinding,
      &kNetworkPolicy,  &kClusterVersion,      &kInfrastructure,
      &kOpenShiftServer};
  static const Kind* const kWrites[] = {
      &kSchedulerKind,       &api::kDeployment,    &api::kConfigMap,
      &api::kServiceAccount, &api::kClusterRole,   &kRole,
      &kRoleBinding,         &kClusterRoleBinding, &kNetworkPolicy};
  static const Kind* const kSmall[] = {&api::kNode, &kClusterVersion};
  constexpr std::string_view kOwned = "create patch delete";
  static const Access kAccess[] = {{&kSchedulerKind, "patch", "status"},
                                   {&kSchedulerKind, "update", "finalizers"},
                                   {&api::kDeployment, kOwned},
                                   {&api::kConfigMap, kOwned},
                                   {&api::kServiceAccount, kOwned},
                                   {&api::kClusterRole, kOwned},
                                   {&kRole, kOwned},
                                   {&kRoleBinding, kOwned},
                                   {&kClusterRoleBinding, kOwned},
                                   {&kNetworkPolicy, kOwned}};
  static const Operator kOperator{.name = kSchedulerApplier,
                                  .primary = &kSchedulerKind,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_scheduler,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

std::span<const Operator* const> numa_operators() {
  static const Operator* const kOperators[] = {&exporter_operator(), &kubelet_config_operator(),
                                               &hosted_kubelet_config_operator(),
                                               &scheduler_operator()};
  return kOperators;
}

}  // namespace athanor::numa
