// SPDX-License-Identifier: Apache-2.0
#include "systems/das/operands/operands.hpp"

#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "runtime/rights/webhook_registration.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/das/admission/webhook.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/operands/object_builders.hpp"

namespace athanor::das {
namespace {

constexpr int kWebhookPort = 8443;

Value webhook_labels() {
  return Value::object(
      {{"app.kubernetes.io/name", kWebhookName}, {"app.kubernetes.io/part-of", "das-operator"}});
}

// docs/spec/das.md 10.2; without probes, as nothing answers in such a pod.
Value webhook_stand_in(const Settings& settings) {
  Value container = stand_in(kWebhookName, {"/usr/bin/das-webhook", "serve", "--tls=true"},
                             settings.webhook_image);
  container.set("resources",
                Value::object({{"requests", Value::object({{"cpu", "5m"}, {"memory", "30Mi"}})}}));
  Value object = make_deployment({.name = kWebhookName,
                                  .account = "das-operator",
                                  .pod_labels = webhook_labels(),
                                  .container = std::move(container)},
                                 settings);
  Value all = webhook_labels();
  all.set("app.kubernetes.io/managed-by", "das-operator");
  all.set("app.kubernetes.io/version", "0.0.1");
  object.member("metadata").set("labels", std::move(all));
  Value& spec = object.member("spec");
  spec.set("strategy", Value::object({{"type", "RollingUpdate"},
                                      {"rollingUpdate", Value::object({{"maxUnavailable", 1}})}}));
  Value& pod = spec.member("template");
  pod.member("metadata")
      .set("annotations", Value::object({{"openshift.io/required-scc", "restricted-v2"},
                                         {"target.workload.openshift.io/management",
                                          R"({"effect": "PreferredDuringScheduling"})"}}));
  pod.member("spec").set("priorityClassName", "system-cluster-critical");
  return object;
}

Value registration(const Settings& settings) {
  Value object =
      webhook_configuration(das_webhooks(), true, std::string(das_webhooks().front().configuration),
                            {.service = kWebhookName, .ns = settings.ns, .port = kWebhookPort});
  object.member("metadata")
      .set("labels", Value::object({{"app.kubernetes.io/managed-by", "das-operator"}}));
  return object;
}

// On OpenShift the profile is in the arguments, and its digest rolls the pods.
void follow_tls_profile(const Cluster& cluster, Value& workload) {
  if (cluster.tls == nullptr) {
    return;
  }
  add_tls_flags(read_tls_profile(*cluster.tls), "--", workload);
  workload.member("spec")
      .member("template")
      .member("metadata")
      .member("annotations")
      .set(kTlsAnnotation, tls_profile_hash(*cluster.tls));
}

std::vector<Operand> owned_by(const DASOperator& op, std::vector<Operand> operands) {
  const OwnerReference owner{.api_version = kGroupVersion,
                             .kind = std::string(kDASOperator.name),
                             .name = std::string(op.object.name()),
                             .uid = std::string(op.object.uid())};
  for (Operand& operand : operands) {
    if (operand.kind == &api::kDeployment || operand.kind == &api::kDaemonSet) {
      operand.object.set_path({"metadata", "annotations", kSpecHashAnnotation},
                              sha256_hex(json::print(operand.object["spec"])));
    }
    if (!operand.kind->namespaced) {
      continue;  // an owner with a namespace would count as absent
    }
    operand.object.member("metadata").set("ownerReferences", Value::list({owner.to_value()}));
  }
  return operands;
}

}  // namespace

std::vector<Operand> operands_of(const DASOperator& op, const Settings& settings,
                                 const Cluster& cluster) {
  std::vector<Operand> operands;
  if (settings.production) {
    std::vector<Value> policy = agent_policy(settings.ns);
    operands.push_back({&api::kValidatingPolicy, std::move(policy[0])});
    operands.push_back({&api::kValidatingPolicyBinding, std::move(policy[1])});
  }
  operands.push_back({&api::kDaemonSet, agent_set(op, settings)});
  follow_tls_profile(cluster, operands.back().object);
  if (settings.production) {
    operands.push_back(
        {&api::kServiceAccount, make_object(api::kServiceAccount, "das-daemonset", settings)});
    if (!settings.scheduler_image.empty()) {
      add_scheduler(op, settings, cluster, operands);
    }
    add_policies(settings, cluster, operands);
    if (cluster.serves_webhook) {
      operands.push_back({&kMutatingWebhooks, registration(settings)});
    }
    return owned_by(op, std::move(operands));
  }
  add_scheduler(op, settings, cluster, operands);
  operands.push_back({&api::kDeployment, webhook_stand_in(settings)});
  follow_tls_profile(cluster, operands.back().object);
  Value service = make_object(api::kService, kWebhookName, settings);
  service.set("spec",
              Value::object({{"selector", webhook_labels()},
                             {"ports", Value::list({Value::object({{"name", "https"},
                                                                   {"port", kWebhookPort},
                                                                   {"targetPort", kWebhookPort},
                                                                   {"protocol", "TCP"}})})}}));
  operands.push_back({&api::kService, std::move(service)});
  add_policies(settings, cluster, operands);
  return owned_by(op, std::move(operands));
}

Value operator_deployment(const Settings& settings) {
  Value container = stand_in("das-operator", {"/usr/bin/das-operator", "operator"});
  container.set("env", Value::list({variable("OPERATOR_NAME", "das-operator"),
                                    variable("EMULATED_MODE", settings.emulated_mode)}));
  return make_deployment({.name = "das-operator",
                          .account = "das-operator",
                          .pod_labels = Value::object({{"name", "das-operator"}}),
                          .container = std::move(container)},
                         settings);
}

}  // namespace athanor::das
