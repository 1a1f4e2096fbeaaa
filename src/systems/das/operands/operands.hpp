// SPDX-License-Identifier: Apache-2.0
// The objects that the operator keeps for a DASOperator (docs/spec/das.md 10).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// The built-in kind NetworkPolicy.
inline constexpr Kind kNetworkPolicy{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies",
                                     true};
// The built-in kind MutatingWebhookConfiguration.
inline constexpr Kind kMutatingWebhooks{"admissionregistration.k8s.io", "v1",
                                        "MutatingWebhookConfiguration",
                                        "mutatingwebhookconfigurations", false};
// Records on the scheduler's ConfigMap which operatorLogLevel is in force.
inline constexpr const char* kLogLevelAnnotation = "das.inference.redhat.com/operator-log-level";

// Annotation of workloads: a digest of the spec that was applied (docs/spec/das.md 10.1).
inline constexpr const char* kSpecHashAnnotation = "operator.openshift.io/spec-hash";
// Annotation of the agent's pods: the TLS profile of their arguments (docs/spec/das.md 10.6).
inline constexpr const char* kTlsAnnotation = "das-operator.openshift.io/tls-profile-hash";

// An object to apply and its kind.
struct Operand {
  const Kind* kind = nullptr;
  Value object{};
  [[nodiscard]] Key key() const { return Object(object).key(); }
};
// Inputs of the operands besides the DASOperator.
struct Cluster {
  // spec.tlsSecurityProfile of OpenShift's APIServer; nullptr: the cluster has none.
  const Value* tls = nullptr;
  // Ports of the API server's endpoints.
  std::vector<std::int64_t> api_ports{6443};
  // Annotations of the scheduler's pods: "configmaps/NAME" and the like, and a resource version.
  std::map<std::string, std::string> scheduler_versions{};
  // The webhook's Service exists: it is registered.
  bool serves_webhook = false;
};
// Returns them in the order in which they are applied: in production the agents' policy, then
// agent, scheduler, webhook, network policies, and last the webhook's registration. They are
// deleted in the reverse order. In a lab the process itself does the work of the pods, which only
// stand for it. In production the agent, and with an image of kube-scheduler the scheduler: webhook
// and extender are deployed with the operator.
std::vector<Operand> operands_of(const DASOperator& op, const Settings& settings,
                                 const Cluster& cluster);
// Returns the ValidatingAdmissionPolicy, and its binding, by which each agent of this namespace
// writes objects of its own node alone (docs/spec/das.md O-B8).
std::vector<Value> agent_policy(const std::string& ns);
// Returns the operator's own Deployment, which the deployment brings (docs/spec/das.md 13.1).
Value operator_deployment(const Settings& settings);

}  // namespace athanor::das
