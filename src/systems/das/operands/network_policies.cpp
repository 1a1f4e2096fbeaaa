// SPDX-License-Identifier: Apache-2.0
// NetworkPolicies of the operator's namespace (docs/spec/das.md 10.7).
#include <utility>

#include "systems/das/operands/parts.hpp"

namespace athanor::das {
namespace {

Value policy(const char* name, Value spec, const Settings& settings) {
  Value object = make_object(kNetworkPolicy, name, settings);
  object.set("spec", std::move(spec));
  return object;
}

Value port(const char* protocol, Value number) {
  return Value::object({{"protocol", protocol}, {"port", std::move(number)}});
}

}  // namespace

void add_policies(const Settings& settings, std::vector<Operand>& operands) {
  const auto add = [&](const char* name, Value spec) {
    operands.push_back({&kNetworkPolicy, policy(name, std::move(spec), settings)});
  };
  const Value all = Value::object();
  add("das-deny-all",
      Value::object({{"podSelector", all}, {"policyTypes", Value::list({"Ingress", "Egress"})}}));
  const auto egress = [&](Value rule) {
    return Value::object({{"podSelector", all},
                          {"policyTypes", Value::list({"Egress"})},
                          {"egress", Value::list({std::move(rule)})}});
  };
  add("das-allow-egress-kube-apiserver",
      egress(Value::object({{"ports", Value::list({port("TCP", 6443)})}})));
  add("das-allow-egress-cluster-dns",
      egress(Value::object(
          {{"to",
            Value::list({Value::object(
                {{"namespaceSelector",
                  Value::object({{"matchLabels", Value::object({{"kubernetes.io/metadata.name",
                                                                 "kube-system"}})}})},
                 {"podSelector",
                  Value::object({{"matchLabels", Value::object({{"k8s-app", "kube-dns"}})}})}})})},
           {"ports", Value::list({port("UDP", "dns"), port("TCP", "dns-tcp")})}})));
  add("das-allow-ingress-webhook",
      Value::object(
          {{"podSelector",
            Value::object({{"matchLabels",
                            Value::object({{"app.kubernetes.io/name", "das-operator-webhook"}})}})},
           {"policyTypes", Value::list({"Ingress"})},
           {"ingress",
            Value::list({Value::object({{"ports", Value::list({port("TCP", 8443)})}})})}}));
}

}  // namespace athanor::das
