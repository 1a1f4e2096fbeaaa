// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/workload_status.hpp"

#include <initializer_list>

namespace athanor::apiserver {
namespace {

using Fields = std::initializer_list<std::string_view>;

void check_counters(FieldErrors& errors, const Value& status, Fields fields) {
  for (const std::string_view field : fields) {
    check_not_negative(errors, below("status", field), status[field]);
  }
}

// None above the replicas there are, no more available than ready.
void check_parts(FieldErrors& errors, const Value& status, Fields parts,
                 std::string_view ready_text) {
  for (const std::string_view part : parts) {
    if (status[part].as_int() > status["replicas"].as_int()) {
      errors.push_back(FieldError::invalid(below("status", part), status[part].as_int(),
                                           "cannot be greater than status.replicas"));
    }
  }
  if (status["availableReplicas"].as_int() > status["readyReplicas"].as_int()) {
    errors.push_back(FieldError::invalid("status.availableReplicas",
                                         status["availableReplicas"].as_int(), ready_text));
  }
}

// A counter of collisions only grows.
void check_collisions(FieldErrors& errors, const Value& status, const Value& old_status) {
  const Value& now = status["collisionCount"];
  const Value& before = old_status["collisionCount"];
  if (!before.is_null() && (now.is_null() || now.as_int() < before.as_int())) {
    errors.push_back(
        FieldError::invalid("status.collisionCount", now.as_int(), "cannot be decremented"));
  }
}

}  // namespace

FieldErrors validate_deployment_status(const Value& status, const Value& old_status) {
  FieldErrors errors;
  check_counters(
      errors, status,
      {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
       "unavailableReplicas", "terminatingReplicas", "collisionCount"});
  check_parts(errors, status, {"updatedReplicas", "readyReplicas", "availableReplicas"},
              "cannot be greater than readyReplicas");
  check_collisions(errors, status, old_status);
  return errors;
}

FieldErrors validate_replica_status(const Value& status) {
  FieldErrors errors;
  check_counters(errors, status,
                 {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                  "observedGeneration", "terminatingReplicas"});
  check_parts(errors, status, {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
              "cannot be greater than readyReplicas");
  return errors;
}

FieldErrors validate_stateful_status(const Value& status, const Value& old_status) {
  FieldErrors errors;
  check_counters(errors, status,
                 {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                  "availableReplicas", "observedGeneration", "collisionCount"});
  check_parts(errors, status,
              {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
              "cannot be greater than status.readyReplicas");
  check_collisions(errors, status, old_status);
  return errors;
}

FieldErrors validate_daemon_status(const Value& status) {
  FieldErrors errors;
  check_counters(errors, status,
                 {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                  "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
                  "numberUnavailable", "collisionCount"});
  return errors;
}

}  // namespace athanor::apiserver
