// SPDX-License-Identifier: Apache-2.0
#include "systems/das/operators.hpp"

#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/operands/operands.hpp"
#include "systems/das/operator.hpp"
#include "systems/das/sharing/hooks.hpp"

namespace athanor::das {

std::span<const Operator* const> das_operators() {
  static const Operator* const kOperators[] = {&das_operator(),     &agent_operator(),
                                               &claim_operator(),   &publisher_operator(),
                                               &classes_operator(), &mirror_operator()};
  return kOperators;
}

std::span<const NodeHooks* const> das_nodes() {
  static const NodeHooks* const kHooks[] = {&mig_node_hooks(), &dra_node_hooks(),
                                            &share_node_hooks()};
  return kHooks;
}

std::vector<Value> das_lab_objects(const Settings& settings) {
  const auto object = [&](const char* api_version, std::string_view kind, const std::string& name,
                          bool namespaced) {
    Value metadata = Value::object({{"name", name}});
    if (namespaced) {
      metadata.set("namespace", settings.ns);
    }
    return Value::object({{"apiVersion", api_version}, {"kind", kind}, {"metadata", metadata}});
  };
  Value ns = object("v1", "Namespace", settings.ns, false);
  ns.set_path({"metadata", "labels"}, Value::object({{"openshift.io/cluster-monitoring", "true"}}));
  Value op = object(kGroupVersion, kDASOperator.name, kOperatorName, true);
  op.set("spec", Value::object({{"managementState", "Managed"},
                                {"logLevel", "Normal"},
                                {"operatorLogLevel", "Normal"}}));
  Value runtime = object("node.k8s.io/v1", "RuntimeClass", kRuntimeClass, false);
  runtime.set("handler", kRuntimeClass);
  return {std::move(runtime), std::move(ns), object("v1", "ServiceAccount", "das-operator", true),
          std::move(op), operator_deployment(settings)};
}

}  // namespace athanor::das
