// SPDX-License-Identifier: Apache-2.0
// Room: preemption where only the hooks refuse a pod. kube-scheduler tries without them which pods
// would have to leave; it finds none there, and does not ask the extender.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/step.hpp"

namespace athanor::extender {

// A node, and the pods that have to leave it.
struct Room {
  std::string node{};
  std::vector<Object> victims{};
};

// Returns true if less is lost by `a` than by `b`: the lowest of the highest priorities of the
// victims, then their sum, then their number.
bool costs_less(const Room& a, const Room& b);
// Returns what kube-scheduler writes of a victim: condition DisruptionTarget, the deletion, and the
// event Preempted.
std::vector<Step> eviction_steps(const Object& victim, const Object& preemptor,
                                 std::string_view node, Instant now);

}  // namespace athanor::extender
