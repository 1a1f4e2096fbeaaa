// SPDX-License-Identifier: Apache-2.0
#include "agent/rights.hpp"

#include "api/builtin.hpp"
#include "runtime/view/rbac.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/log_level.hpp"

namespace athanor::agent {
namespace {

// What the process does beside its controllers: Allocate, exchanges, the end of a reboot's pods.
const Operator& beside_controllers() {
  static constexpr const Kind* kReads[] = {&api::kPod, &das::kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&das::kAllocationClaim, &api::kPod};
  static constexpr Access kAccess[] = {{&api::kNode, "get"},
                                       {&api::kPod, "delete"},
                                       {&das::kClusterPolicy, "get"},
                                       {&das::kNodeAccelerator, "get"},
                                       {&api::kResourceClaim, "get"},
                                       {&das::kAllocationClaim, "create patch delete"},
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
  return runtime::rbac_objects(operators,
                               {.name = "das-daemonset", .install_namespace = ns, .lease = ""});
}

}  // namespace athanor::agent
