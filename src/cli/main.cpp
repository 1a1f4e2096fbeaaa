// SPDX-License-Identifier: Apache-2.0
// The program: one verb per run.
#include <unistd.h>

#include <exception>
#include <string>

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  // Exceptions mean a broken invariant or no memory: nothing to go on with.
  try {
    const athanor::cli::Command command = athanor::cli::parse(argc, argv);
    return std::visit([](const auto& options) { return athanor::cli::run(options); }, command);
  } catch (const std::exception& error) {
    athanor::cli::Terminal(STDERR_FILENO).print(std::string("athanor: ") + error.what() + "\n");
    return 1;
  }
}
