// SPDX-License-Identifier: Apache-2.0
// Policies that limit each agent's writes to its own node (docs/spec/das.md O-B8).
#include <fmt/core.h>

#include "api/own_node_policy.hpp"
#include "systems/das/operands/operands.hpp"

namespace athanor::das {

namespace {

// Returns the node of an object, as CEL.
std::string node_expression(const std::string& object) {
  return fmt::format(
      "request.resource.resource == 'allocationclaims' ? (has({0}.spec) && has({0}.spec.nodename) "
      "? "
      "{0}.spec.nodename : '') : request.resource.resource == 'resourceslices' ? "
      "(has({0}.spec.nodeName) ? {0}.spec.nodeName : '') : {0}.metadata.name",
      object);
}

}  // namespace

std::vector<Value> agent_policy(const std::string& ns) {
  return api::own_node_objects(
      {.name = "das-daemonset-own-node",
       .ns = ns,
       .account = "das-daemonset",
       .role = "an agent",
       .rules = {api::own_node_rule("inference.redhat.com",
                                    {"allocationclaims", "allocationclaims/status",
                                     "nodeaccelerators", "nodeaccelerators/status"}),
                 api::own_node_rule("resource.k8s.io", {"resourceslices"}),
                 api::own_node_rule("", {"nodes", "nodes/status"})},
       .node_of = node_expression});
}

}  // namespace athanor::das
