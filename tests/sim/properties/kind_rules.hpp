// SPDX-License-Identifier: Apache-2.0
// Makers of rules that a system registers for its kinds (Scene::invariants). Made anew for every
// world: some remember what they saw.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// Makes "no <Kind> runs twice": an owner of `owner` never gets a second controlled child of
// `child`, unless the one before it was `given_up` (nullptr: never) in its last known state.
Invariant runs_once(const Kind& owner, const Kind& child,
                    std::function<bool(const Object&)> given_up = nullptr);

// Makes "finished <Kind> stays": once `finished`, the status keys `kept` never change.
Invariant finished_stays(const Kind& kind, std::function<bool(const Object&)> finished,
                         std::vector<std::string> kept);

}  // namespace athanor::sim
