// SPDX-License-Identifier: Apache-2.0
// Certificates are no operands: `athanor controllers` makes them and puts their authorities into
// the webhook's registration. A lab has neither: its server asks the webhook in process.
#include "systems/das/operator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "api/runtime_class.hpp"
#include "kube/apply/additions.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/refused_steps.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/operands/operands.hpp"

namespace athanor::das {
namespace {

// The operator, which is also the field manager of what it applies.
constexpr std::string_view kApplier = "das-operator";
// Ends the type of the condition of an operand that the API server refuses.
constexpr std::string_view kRefusedSuffix = ".Refused";

struct Component {
  const char* name;
  std::int64_t ready = 0;
  std::int64_t desired = 0;
  bool is_agent = false;
};

Component deployment(const View& view, const Settings& settings, const char* name,
                     const char* object) {
  const auto found = view.get(api::kDeployment, {settings.ns, object});
  return {.name = name,
          .ready = found ? found->status()["readyReplicas"].as_int() : 0,
          .desired = found ? found->spec()["replicas"].as_int(1) : 1};
}

Component agent(const View& view, const Settings& settings) {
  const auto found = view.get(api::kDaemonSet, {settings.ns, "das-daemonset"});
  return {.name = "daemonset",
          .ready = found ? found->status()["numberReady"].as_int() : 0,
          .desired = found ? found->status()["desiredNumberScheduled"].as_int() : 0,
          .is_agent = true};
}

// Returns true for a policy that a server before Kubernetes 1.30 does not have.
bool is_missing_policy(const RefusedStep& step) {
  return step.error.code == 404 && (step.target.kind == &api::kValidatingPolicy ||
                                    step.target.kind == &api::kValidatingPolicyBinding);
}

template <class Test>
std::string names_of(const std::vector<Component>& components, const Test& test) {
  std::string text;
  for (const Component& component : components) {
    if (test(component)) {
      text += (text.empty() ? "" : ", ") + std::string(component.name);
    }
  }
  return text;
}

class Run {
 public:
  Run(const View& view, const DASOperator& op, Instant now)
      : view_(view), op_(op), settings_(settings_of(view)), now_(now) {}

  // The DASOperator is being deleted.
  Plan clean_up() {
    bool gone = true;
    for (const Operand& operand : all_operands()) {
      // A policy without agents concerns no writer: it needs no finalizer.
      gone = (operand.kind != &kMutatingWebhooks || remove(operand)) && gone;
    }
    if (gone) {
      set_finalizer(false);
    }
    return std::move(plan_);
  }

  Plan plan() {
    const std::string& state = op_.spec.management_state;
    conditions_ = op_.status["conditions"].is_list() ? op_.status["conditions"] : Value::list();
    if (state == "Removed") {
      remove();
    } else if (state == "Unmanaged") {
      set("Managed", false, "Unmanaged", "Operands are left as they are");
    } else {
      reconcile_operator();
    }
    report_refusals();
    if (settings_.production && !settings_.webhook_image.empty()) {
      set("WebhookImageUsed", false, "ServedByOperator",
          "RELATED_IMAGE_WEBHOOK_IMAGE has no effect: the operator's pods serve the webhook");
    } else {
      unset("WebhookImageUsed");
    }
    judge();
    return std::move(plan_);
  }

 private:
  void set(const char* type, bool status, const char* reason, std::string message) {
    set_condition(conditions_,
                  {.type = type,
                   .status = status ? "True" : "False",
                   .reason = reason,
                   .message = std::move(message)},
                  now_);
  }
  template <class Test>
  void unset_if(const Test& test) {
    for (std::size_t i = conditions_.size(); i-- > 0;) {
      if (test(conditions_[i]["type"].as_string())) {
        conditions_.erase_item(i);
      }
    }
  }
  void unset(std::string_view type) {
    unset_if([type](std::string_view one) { return one == type; });
  }

  // One condition for each operand that is refused; the others are applied (docs/spec/das.md O-B2).
  void report_refusals() {
    std::set<std::string, std::less<>> types;
    for (const RefusedStep& step : take_refused(view_, now_, plan_)) {
      if (step.target.kind == nullptr || is_missing_policy(step)) {
        continue;  // no step on an object
      }
      const std::string name(step.target.kind->name);
      const std::string type = name + "." + step.target.key.name + std::string(kRefusedSuffix);
      refused_ += (refused_.empty() ? "" : ", ") + name + " " + step.target.key.name;
      types.insert(type);
      set(type.c_str(), true, step.error.reason.empty() ? "Refused" : step.error.reason.c_str(),
          step.error.message);
    }
    unset_if([&](std::string_view one) {
      return one.ends_with(kRefusedSuffix) && !types.contains(one);
    });
  }

  void reconcile_operator() {
    unset("Managed");
    unset("RemovalBlocked");
    tell_log_level();
    const Cluster cluster = this->cluster();
    if (cluster.serves_webhook) {
      set_finalizer(true);
    }
    for (Operand& operand : operands_of(op_, settings_, cluster)) {
      const Key key = operand.key();
      // Reading it makes the run depend on it: what is changed or deleted comes back.
      const auto known = view_.get(*operand.kind, key);
      if (known && known->deleting()) {
        continue;
      }
      if (known) {
        drop_additions(*known, operand);
      }
      plan_.then(Apply{.target = {operand.kind, key}, .fields = std::move(operand.object)});
    }
  }

  void drop_additions(const Object& known, const Operand& operand) {
    if (auto removal = removal_of_additions(known.body(), operand.object, kApplier)) {
      plan_.then(Patch{.target = {operand.kind, known.key()},
                       .merge = *std::move(removal),
                       .guard = {.uid = std::string(known.uid()),
                                 .resource_version = std::string(known.resource_version())}});
    }
  }

  // A lab's API server is this process.
  Cluster cluster() {
    Cluster cluster;
    server_ = view_.get(kOpenShiftServer, {"", "cluster"});
    if (server_) {
      cluster.tls = &server_->spec()["tlsSecurityProfile"];
    }
    if (!settings_.production) {
      return cluster;
    }
    const auto version = [&](const char* type, const Kind& kind, const char* name) {
      if (const auto found = view_.get(kind, {settings_.ns, name})) {
        cluster.scheduler_versions[std::string(type) + "/" + name] =
            std::string(found->resource_version());
      }
    };
    version("configmaps", api::kConfigMap, kSchedulerConfigMap);
    version("serviceaccounts", api::kServiceAccount, kSchedulerName);
    cluster.serves_webhook = view_.get(api::kService, {settings_.ns, kWebhookName}).has_value();
    if (const auto slice = view_.get(api::kEndpointSlice, {"default", "kubernetes"});
        slice && !slice->body()["ports"].empty()) {
      cluster.api_ports.clear();
      for (const Value& port : slice->body()["ports"].items()) {
        cluster.api_ports.push_back(port["port"].as_int());
      }
    }
    return cluster;
  }

  void tell_log_level() {
    const std::string wanted =
        op_.spec.operator_log_level.empty() ? "Normal" : op_.spec.operator_log_level;
    const auto config = view_.get(api::kConfigMap, {settings_.ns, kSchedulerConfigMap});
    const std::string before(config ? config->annotation(kLogLevelAnnotation) : "");
    if (!before.empty() && before != wanted) {
      plan_.then(Emit{
          .about = {&kDASOperator, op_.object.key()},
          .about_uid = std::string(op_.object.uid()),
          .reason = "OperatorLogLevelChange",
          .note = fmt::format("Operator log level changed from \"{}\" to \"{}\"", before, wanted)});
    }
    plan_.merge(take_log_level(op_));
  }

  void remove() {
    unset("Managed");
    std::size_t in_use = 0;
    for (const Object& claim : view_.list(kAllocationClaim, {.ns = settings_.ns})) {
      in_use += claim.status()["state"].as_string() == kInUse ? 1 : 0;
    }
    if (in_use > 0) {
      set("RemovalBlocked", true, "ClaimsInUse", fmt::format("{} AllocationClaims in use", in_use));
      return;
    }
    unset("RemovalBlocked");
    // The registration first: nothing may be sent to a scheduler that is gone.
    const std::vector<Operand> operands = all_operands();
    std::for_each(operands.rbegin(), operands.rend(),
                  [&](const Operand& operand) { remove(operand); });
  }

  // Also those that the cluster as it is does not need.
  std::vector<Operand> all_operands() {
    Cluster cluster = this->cluster();
    cluster.serves_webhook = true;
    return operands_of(op_, settings_, cluster);
  }

  // True: it is gone.
  bool remove(const Operand& operand) {
    const auto known = view_.get(*operand.kind, operand.key());
    if (known && !known->deleting()) {
      plan_.then(Delete{.target = {operand.kind, operand.key()},
                        .guard = {.uid = std::string(known->uid())}});
    }
    return !known;
  }

  [[nodiscard]] bool has_finalizer() const {
    const Value& all = op_.object.body()["metadata"]["finalizers"];
    return std::ranges::any_of(
        all.items(), [](const Value& one) { return one.as_string() == kCleanupFinalizer; });
  }
  // An object without namespace has no owner: the garbage collector leaves it to the finalizer.
  void set_finalizer(bool wanted) {
    if (has_finalizer() == wanted) {
      return;
    }
    Value finalizers = Value::list();
    for (const Value& one : op_.object.body()["metadata"]["finalizers"].items()) {
      if (one.as_string() != kCleanupFinalizer) {
        finalizers.push_back(one);
      }
    }
    if (wanted) {
      finalizers.push_back(kCleanupFinalizer);
    }
    Value merge = Value::object();
    merge.set_path({"metadata", "finalizers"}, std::move(finalizers));
    plan_.then(Patch{.target = {&kDASOperator, op_.object.key()},
                     .merge = std::move(merge),
                     .guard = {.uid = std::string(op_.object.uid()),
                               .resource_version = std::string(op_.object.resource_version())}});
  }

  // In production scheduler and webhook count where they are deployed under these names; this
  // process is the operator.
  std::vector<Component> parts() const {
    std::vector<Component> parts;
    for (const auto& [name, object] :
         {std::pair("operator", "das-operator"), std::pair("scheduler", "das-scheduler"),
          std::pair("webhook", "das-operator-webhook")}) {
      if (!settings_.production || view_.get(api::kDeployment, {settings_.ns, object})) {
        parts.push_back(deployment(view_, settings_, name, object));
      } else if (std::string_view(name) == "operator") {
        parts.push_back({.name = name, .ready = 1, .desired = 1});
      }
    }
    parts.push_back(agent(view_, settings_));
    return parts;
  }

  // status.generations: of the workloads that are kept.
  [[nodiscard]] Value generations() const {
    Value list = Value::list();
    const auto add = [&](const Kind& kind, const char* name) {
      if (const auto found = view_.get(kind, {settings_.ns, name})) {
        list.push_back(Value::object({{"group", kind.group},
                                      {"resource", kind.plural},
                                      {"namespace", settings_.ns},
                                      {"name", name},
                                      {"lastGeneration", found->generation()},
                                      {"hash", ""}}));
      }
    };
    add(api::kDaemonSet, "das-daemonset");
    add(api::kDeployment, kSchedulerName);
    if (!settings_.production) {
      add(api::kDeployment, kWebhookName);
    }
    return list;
  }

  void judge() {
    const std::vector<Component> components = parts();
    const Component& nodes = components.back();
    const bool matched = nodes.desired > 0;
    const std::string absent = names_of(components, [&](const Component& one) {
      return one.ready < 1 && (!one.is_agent || matched);
    });
    const std::string behind =
        names_of(components, [&](const Component& one) { return one.ready != one.desired; });
    if (absent.empty()) {
      set("Available", true, "AllRequiredComponentsAvailable",
          "All required components have at least 1 replica available");
    } else {
      set("Available", false, "ComponentsNotAvailable",
          "Components without available replicas: " + absent);
    }
    if (behind.empty()) {
      set("Progressing", false, "AllComponentsAtDesiredState",
          "All components are at desired state");
      if (refused_.empty()) {
        set("Degraded", false, "AllComponentsHealthy", "");
      } else {
        set("Degraded", true, "OperandsRefused", "Operands not written: " + refused_);
      }
    } else {
      set("Progressing", true, "Reconciling", "Components are being reconciled to desired state");
      set("Degraded", true, "ComponentReplicaMismatch",
          "Components not matching configured replica counts: " + behind);
    }
    if (matched) {
      unset("NodesMatched");
    } else {
      set("NodesMatched", false, "NoMatchingNodes", "No node matches the agent's node selector");
    }
    plan_.then(Status{.target = {&kDASOperator, op_.object.key()},
                      .status = Value::object({{"conditions", conditions_},
                                               {"generations", generations()},
                                               {"observedGeneration", op_.object.generation()},
                                               {"readyReplicas", components.front().ready},
                                               {"version", "0.1.0"}}),
                      .guard = {.uid = std::string(op_.object.uid())}});
  }

  const View& view_;
  const DASOperator& op_;
  Settings settings_;
  Instant now_;
  std::optional<Object> server_{};
  Value conditions_{};
  Plan plan_{};
  std::string refused_{};  // operands, for the message
};

// The operands have fixed names: one DASOperator has them, and any other says so.
Plan leave_to(const Key& managed, const DASOperator& other, Instant now) {
  Value conditions =
      other.status["conditions"].is_list() ? other.status["conditions"] : Value::list();
  set_condition(conditions,
                {.type = "Managed",
                 .status = "False",
                 .reason = "AnotherDASOperator",
                 .message = fmt::format("DASOperator {} alone is managed", managed.text())},
                now);
  Plan plan;
  plan.then(Status{.target = {&kDASOperator, other.object.key()},
                   .status = Value::object({{"conditions", std::move(conditions)}}),
                   .guard = {.uid = std::string(other.object.uid())}});
  return plan;
}

Plan reconcile_operator(const View& view, const Key& key, Instant now) {
  const auto op = view.get<DASOperator>(key);
  const Settings settings = settings_of(view);
  if (!op || (!settings.emulated() && !settings.production)) {
    return Plan::done();
  }
  if (const Key managed{settings.ns, kOperatorName}; key != managed) {
    return op->object.deleting() ? Plan::done() : leave_to(managed, *op, now);
  }
  if (op->object.deleting()) {
    return Run(view, *op, now).clean_up();
  }
  return Run(view, *op, now).plan();
}

}  // namespace

const Operator& das_operator() {
  static constexpr const Kind* kReads[] = {
      &kDASOperator, &kAllocationClaim, &api::kDeployment, &api::kDaemonSet, &api::kConfigMap,
      &api::kService, &api::kServiceAccount, &kNetworkPolicy,
      // the webhook's: opting out by namespace, quotas that never bite, the runtime class
      &api::kNamespace, &api::kResourceQuota, &api::kRuntimeClass,
      // the TLS profile of the agents' ports; the API server's own ports
      &kOpenShiftServer, &api::kEndpointSlice,
      // the webhook's registration
      &kMutatingWebhooks,
      // what agents may write
      &api::kValidatingPolicy, &api::kValidatingPolicyBinding};
  static constexpr const Kind* kWrites[] = {
      &kDASOperator,           &api::kDeployment,
      &api::kDaemonSet,        &api::kConfigMap,
      &api::kService,          &api::kServiceAccount,
      &kNetworkPolicy,         &kMutatingWebhooks,
      &api::kValidatingPolicy, &api::kValidatingPolicyBinding};
  static constexpr std::string_view kAll = "create patch delete";
  static const Access kAccess[] = {{&kDASOperator, "patch"},
                                   {&kDASOperator, "patch", "status"},
                                   {&kDASOperator, "update", "finalizers"},
                                   {&api::kEvent, "create patch"},
                                   {&api::kDeployment, kAll},
                                   {&api::kDaemonSet, kAll},
                                   {&api::kConfigMap, kAll},
                                   {&api::kService, kAll},
                                   {&api::kServiceAccount, kAll},
                                   {&kNetworkPolicy, kAll},
                                   {&kMutatingWebhooks, kAll},
                                   {&api::kValidatingPolicy, kAll},
                                   {&api::kValidatingPolicyBinding, kAll}};
  static const Operator kOperator{.name = kApplier,
                                  .primary = &kDASOperator,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_operator,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
