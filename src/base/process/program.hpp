// SPDX-License-Identifier: Apache-2.0
// Runs another program and takes what it prints, within bounds of time and size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace athanor {

struct ProgramCall {
  std::vector<std::string> words{};  // the first is the program, found in PATH
  // Variables beside this process' own.
  std::vector<std::pair<std::string, std::string>> variables{};
  Duration timeout{};
  std::size_t output_limit = std::size_t{1} << 20;
  bool terminal = false;      // it may talk with the person at the terminal
  bool takes_errors = false;  // what it says on standard error is part of the output
  const std::atomic<bool>* cancelled = nullptr;  // ends it within 100 ms once it is true
};

enum class ProgramEnding : std::uint8_t {
  Exited,     // `code` says how; 128 and the number of a signal that ended it
  NotFound,   // there is no such program
  Failed,     // the system could not start it; `code` is errno
  Late,       // it took longer or was cancelled, and was killed with its children
  Talkative,  // it printed more, and was killed with its children
};

struct ProgramResult {
  ProgramEnding ending = ProgramEnding::Exited;
  int code = 0;
  std::string output{};

  [[nodiscard]] bool succeeded() const { return ending == ProgramEnding::Exited && code == 0; }
};

// Runs a program to its end; blocks for at most the timeout.
ProgramResult run_program(const ProgramCall& call);

}  // namespace athanor
