// SPDX-License-Identifier: Apache-2.0
// The condition PodsReady of a Workload, as every integration of Kueue writes it
// (docs/spec/kueue.md 8.2). Pure.
#pragma once

#include <optional>

#include "kube/value/condition.hpp"
#include "kube/value/value.hpp"

namespace athanor::api::kueue {

struct PodsReadyFacts {
  bool admitted = false;
  bool ready = false;  // all pods of the job are
};
// Returns PodsReady as it shall be; nullopt: `conditions` have it so already.
std::optional<Condition> pods_ready_condition(const Value& conditions, PodsReadyFacts facts);
// Returns PodsReady of a Workload whose job has stopped; nullopt: it never had the condition.
std::optional<Condition> pods_ready_after_stop(const Value& conditions);

}  // namespace athanor::api::kueue
