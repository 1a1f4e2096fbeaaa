// SPDX-License-Identifier: Apache-2.0
// Parts that the operands are made of, and the operands by component.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/operands/operands.hpp"

namespace athanor::das {

// Returns an object with apiVersion, kind, name and the operator's namespace.
Value make_object(const Kind& kind, std::string_view name, const Settings& settings);
// Returns the container of a lab's pod: it only runs, and its arguments name what it stands for.
// `image` empty: a usual one.
Value stand_in(const char* container, std::initializer_list<std::string> words,
               const std::string& image = {});
// Returns an environment variable of a container.
Value variable(const char* name, std::string_view value);
Value pod_template(const Value& pod_labels, const char* account, Value container);

// Values of a Deployment.
struct DeploymentParts {
  const char* name = nullptr;
  const char* account = nullptr;
  Value pod_labels{};
  Value container{};
};
// Returns a Deployment with two replicas.
Value make_deployment(DeploymentParts parts, const Settings& settings);

// Returns the DaemonSet of the agents.
Value agent_set(const DASOperator& op, const Settings& settings);
// Adds the objects of the scheduler; the next function adds the NetworkPolicies.
void add_scheduler(const DASOperator& op, const Settings& settings, const Cluster& cluster,
                   std::vector<Operand>& operands);
void add_policies(const Settings& settings, const Cluster& cluster, std::vector<Operand>& operands);

}  // namespace athanor::das
