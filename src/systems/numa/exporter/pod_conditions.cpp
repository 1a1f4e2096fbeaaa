// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/pod_conditions.hpp"

#include "kube/value/condition.hpp"

namespace athanor::numa {

Value pod_conditions(const Object& pod, const RoundOutcome& outcome, Instant now) {
  Value conditions = pod.status()["conditions"];
  const Value before = conditions;
  set_condition(conditions,
                outcome.scanned ? Condition{.type = "PodresourcesFetched", .status = "True"}
                                : Condition{.type = "PodresourcesFetched",
                                            .status = "False",
                                            .reason = "ScanFailed",
                                            .message = "failed to scan pod resources"},
                now);
  if (outcome.scanned) {
    set_condition(conditions,
                  outcome.written
                      ? Condition{.type = "NodeTopologyUpdated", .status = "True"}
                      : Condition{.type = "NodeTopologyUpdated",
                                  .status = "False",
                                  .reason = "UpdateFailed",
                                  .message = "failed to update noderesourcetopology object"},
                  now);
  }
  return conditions == before ? Value() : conditions;
}

}  // namespace athanor::numa
