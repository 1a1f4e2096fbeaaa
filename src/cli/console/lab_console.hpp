// SPDX-License-Identifier: Apache-2.0
// The console of a lab.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace athanor::console {
class Console;
}

namespace athanor::cli {

// Inputs of a lab's console.
struct LabConsole {
  std::string kubeconfig{};  // path
  std::string jobs_ns{};
  std::string data{};  // folder; empty: nothing is kept
  int port = 0;        // of this machine's loopback address; 0: any free one
};

// Starts it. Errors: the port is taken, the history cannot be opened.
Result<std::unique_ptr<console::Console>> start_lab_console(const LabConsole& lab);

}  // namespace athanor::cli
