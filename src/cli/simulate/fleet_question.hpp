// SPDX-License-Identifier: Apache-2.0
// The simulator that a console asks (console/model/simulator.hpp).
#pragma once

#include "base/result.hpp"
#include "console/model/simulator.hpp"

namespace athanor::cli {

// Plays the jobs on each side's fleet, as `athanor simulate` does with the same trace and fleet as
// files. Jobs of all sides that fit not on every fleet are left out. Errors: a fleet is no lab file
// or has no cluster; 400 if a side's own job fits not on its fleet; 504 after the call's patience.
Result<console::Simulated> answer_question(const console::SimulatorCall& call);

}  // namespace athanor::cli
