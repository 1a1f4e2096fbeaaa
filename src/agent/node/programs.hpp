// SPDX-License-Identifier: Apache-2.0
// Programs of the node that the agent runs for GPUs: nvidia-smi, MPS's control daemon.
#pragma once

#include <string>

#include "base/result.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::agent {

// Runs a program to its end. Errors begin with the command's purpose and name the program: it is
// not there, it failed (with the first line that it wrote), or it took more than 10 s.
Result<void> run_program(const das::Command& command);
// Starts a program in a session of its own, which outlives the caller's. Errors likewise, also when
// it ends at once.
Result<int> start_program(const das::Command& command);
// Returns true if the process exists and runs this program; a child that ended is reaped.
bool is_running(int pid, const std::string& program);
// Ends a process with SIGTERM, after 5 s with SIGKILL.
void end_program(int pid);

}  // namespace athanor::agent
