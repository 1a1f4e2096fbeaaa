// SPDX-License-Identifier: Apache-2.0
// The program: one verb per run.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/contain.hpp"
#include "cli/flags/options.hpp"
#include "cli/numa/tools.hpp"
#include "cli/output/terminal.hpp"
#include "cli/pages/complete.hpp"
#include "cli/session/verbs.hpp"

int main(int argc, char** argv) {
  // What handles keys and requests contains broken invariants; tests of the program ask for the
  // abort.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the program has one thread
  const char* wish = std::getenv("ATHANOR_BROKEN_INVARIANTS");
  athanor::set_broken_invariants_fatal(wish != nullptr && std::string_view(wish) == "fatal");
  // Exceptions mean a broken invariant or no memory: nothing to go on with.
  try {
    const auto words = athanor::cli::as_controllers({argv, argv + argc});
    if (const auto completed = athanor::cli::complete_line(words)) {
      return *completed;
    }
    if (const auto tool = athanor::cli::numa_tool_of(words)) {
      return athanor::cli::run(*tool);
    }
    std::vector<const char*> arguments;
    arguments.reserve(words.size());
    for (const std::string& word : words) {
      arguments.push_back(word.c_str());
    }
    const athanor::cli::Command command =
        athanor::cli::parse(static_cast<int>(arguments.size()), arguments.data());
    const int code =
        std::visit([](const auto& options) { return athanor::cli::run(options); }, command);
    if (const std::string why = athanor::cli::lost_output(); code == 0 && !why.empty()) {
      athanor::cli::Terminal(STDERR_FILENO)
          .print("athanor: standard output is incomplete: " + why + "\n");
      return 1;
    }
    return code;
  } catch (const std::exception& error) {
    athanor::cli::Terminal(STDERR_FILENO).print(std::string("athanor: ") + error.what() + "\n");
    return 1;
  }
}
