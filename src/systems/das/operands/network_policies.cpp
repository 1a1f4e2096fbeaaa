// SPDX-License-Identifier: Apache-2.0
// NetworkPolicies of the operator's namespace (docs/spec/das.md 10.7).
#include <initializer_list>
#include <utility>

#include "systems/das/operands/object_builders.hpp"

namespace athanor::das {
namespace {

constexpr int kMetrics = 8444;  // operator and extender
constexpr int kSchedulerMetrics = 10259;
constexpr int kHttps = 8443;  // webhook; metrics of the agents
constexpr int kExtender = 9443;

Value port(const char* protocol, Value number) {
  return Value::object({{"protocol", protocol}, {"port", std::move(number)}});
}

Value tcp(std::initializer_list<int> numbers) {
  Value ports = Value::list();
  for (const int number : numbers) {
    ports.push_back(port("TCP", number));
  }
  return ports;
}

Value labelled(const char* label, const char* value) {
  return Value::object({{"matchLabels", Value::object({{label, value}})}});
}

Value egress(Value pods, Value rule) {
  return Value::object({{"podSelector", std::move(pods)},
                        {"policyTypes", Value::list({"Egress"})},
                        {"egress", Value::list({std::move(rule)})}});
}

Value ingress(Value pods, Value ports) {
  return Value::object({{"podSelector", std::move(pods)},
                        {"policyTypes", Value::list({"Ingress"})},
                        {"ingress", Value::list({Value::object({{"ports", std::move(ports)}})})}});
}

Value to_api_server(const Cluster& cluster) {
  Value ports = Value::list();
  for (const std::int64_t number : cluster.api_ports) {
    ports.push_back(port("TCP", number));
  }
  return egress(Value::object(), Value::object({{"ports", std::move(ports)}}));
}

Value to_dns(const Settings& settings, const Cluster& cluster) {
  const bool openshift = settings.production && cluster.tls != nullptr;
  const Value peer = Value::object(
      {{"namespaceSelector",
        labelled("kubernetes.io/metadata.name", openshift ? "openshift-dns" : "kube-system")},
       {"podSelector", openshift ? labelled("dns.operator.openshift.io/daemonset-dns", "default")
                                 : labelled("k8s-app", "kube-dns")}});
  return egress(
      Value::object(),
      Value::object({{"to", Value::list({peer})},
                     {"ports", Value::list({port("UDP", "dns"), port("TCP", "dns-tcp")})}}));
}

}  // namespace

void add_policies(const Settings& settings, const Cluster& cluster,
                  std::vector<Operand>& operands) {
  const auto add = [&](const char* name, Value spec) {
    Value object = make_object(kNetworkPolicy, name, settings);
    object.set("spec", std::move(spec));
    operands.push_back({&kNetworkPolicy, std::move(object)});
  };
  const Value all = Value::object();
  add("das-deny-all",
      Value::object({{"podSelector", all}, {"policyTypes", Value::list({"Ingress", "Egress"})}}));
  add("das-allow-egress-kube-apiserver", to_api_server(cluster));
  add("das-allow-egress-cluster-dns", to_dns(settings, cluster));
  // On a cluster the operator's pods serve the webhook.
  add("das-allow-ingress-webhook",
      ingress(labelled("app.kubernetes.io/name",
                       settings.production ? "das-operator" : "das-operator-webhook"),
              tcp({kHttps})));
  add("das-allow-ingress-metrics", ingress(all, tcp({kHttps, kMetrics, kSchedulerMetrics})));
  add("das-allow-ingress-extender", ingress(all, tcp({kExtender})));
  add("das-allow-egress-extender",
      egress(labelled("app", "das-scheduler"),
             Value::object({{"to", Value::list({Value::object({{"podSelector", all}})})},
                            {"ports", tcp({kExtender})}})));
}

}  // namespace athanor::das
