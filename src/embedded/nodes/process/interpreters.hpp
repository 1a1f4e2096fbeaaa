// SPDX-License-Identifier: Apache-2.0
// Shells of images that the host may lack: what is written for `ash` or `busybox` runs where a
// busybox, bash or dash can take it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// The path of a program, by its path or by its name in the usual folders; empty: there is none.
using ProgramFinder = std::string (*)(std::string_view program);
// Searches this machine.
std::string find_program(std::string_view program);

// Returns the words to put in front of a script's path where the program of its first line is not
// here; empty: the kernel can run the script as it is.
std::vector<std::string> script_interpreter(std::string_view script, ProgramFinder find);
// Returns the command with its first words replaced where they name a shell that is not here.
Value with_present_shell(Value command, ProgramFinder find);

// Returns the command as busybox runs it, where this machine has one: its shell, and programs that
// are not here; else as with_present_shell().
Value with_busybox(Value command, ProgramFinder find);

}  // namespace athanor::nodes
