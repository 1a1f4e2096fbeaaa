// SPDX-License-Identifier: Apache-2.0
// Rules that hold in every world, and makers of rules that a system registers for its kinds
// (Scene::invariants). Made anew for every world: some remember what they saw.
#pragma once

#include <functional>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// Returns the checks of every world: no orphan at rest, no object comes back under a uid that was
// deleted, or changes its own, no status is of a generation that is yet to come.
std::vector<Invariant> common_invariants();

// Makes "no <Kind> runs twice": an owner of `owner` never gets a second controlled child of
// `child`, unless the one before it was `given_up` (nullptr: never) in its last known state.
Invariant runs_once(const Kind& owner, const Kind& child,
                    std::function<bool(const Object&)> given_up = nullptr);

// Makes "finished <Kind> stays": once `finished`, the status keys `kept` never change.
Invariant finished_stays(const Kind& kind, std::function<bool(const Object&)> finished,
                         std::vector<std::string> kept);

}  // namespace athanor::sim
