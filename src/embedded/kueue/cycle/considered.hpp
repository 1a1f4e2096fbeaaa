// SPDX-License-Identifier: Apache-2.0
// Which flavors were tried for an assignment, as the event of the reservation names them
// (docs/spec/kueue.md 13): "main: spot(NoFit;untolerated taint ...), reserved(Fit;borrow=1)".
#pragma once

#include <string>

#include "embedded/kueue/cycle/flavor_assigner.hpp"

namespace athanor::kueue {

// Returns the flavors that were tried, by name, each with its mode, how high it borrows and its
// reasons; without those that fit with the queue's own quota. Empty: no other was tried.
std::string considered_flavors(const Assignment& assignment);

}  // namespace athanor::kueue
