// SPDX-License-Identifier: Apache-2.0
// Shares and preemption by shares (docs/spec/kueue.md 7.9) for the slow model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "unit/embedded/kueue/model_tree.hpp"

namespace athanor::kueue::model {

// Whether it borrows without weight, and how much more than its own it uses for its weight.
using Share = std::pair<bool, double>;

Share share_of(const World& world, const Tree& tree, const std::string& node);

// Whom a job preempts for `amount` of a flavor; empty: preemption makes no room. The tree is the
// same afterwards.
std::vector<Victim> fair_victims(const World& world, Tree& tree, const Job& preemptor,
                                 const std::string& flavor, Amount amount);

}  // namespace athanor::kueue::model
