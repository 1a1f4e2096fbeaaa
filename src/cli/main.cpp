// SPDX-License-Identifier: Apache-2.0
// The program: one verb per run.
#include "cli/options.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  const athanor::cli::Command command = athanor::cli::parse(argc, argv);
  return std::visit([](const auto& options) { return athanor::cli::run(options); }, command);
}
