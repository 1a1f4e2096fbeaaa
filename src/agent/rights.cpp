// SPDX-License-Identifier: Apache-2.0
#include "agent/rights.hpp"

#include <algorithm>
#include <iterator>

#include "api/builtin.hpp"
#include "runtime/rights/rbac.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/operands/operands.hpp"

namespace athanor::agent {
namespace {

// Returns the rights that the process needs outside its controllers: for Allocate, exchanges and
// claims after a reboot.
const Operator& beside_controllers() {
  static constexpr const Kind* kReads[] = {&api::kPod, &das::kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&das::kAllocationClaim};
  static constexpr Access kAccess[] = {{&api::kNode, "get"},
                                       {&das::kClusterPolicy, "get"},
                                       {&das::kNodeAccelerator, "get"},
                                       {&api::kResourceClaim, "get"},
                                       {&das::kAllocationClaim, "patch"},
                                       {&das::kAllocationClaim, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "das-daemonset-process",
                                  .primary = &das::kAllocationClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace

std::vector<Value> rights_in(const std::string& ns) {
  const Operator* const operators[] = {&das::publication_operator(), &das::release_operator(),
                                       &das::log_level_operator(), &das::found_publisher_operator(),
                                       &beside_controllers()};
  std::vector<Value> objects = runtime::rbac_objects(
      operators, {.name = "das-daemonset", .install_namespace = ns, .lease = ""});
  std::ranges::move(das::agent_policy(ns), std::back_inserter(objects));
  return objects;
}

}  // namespace athanor::agent
