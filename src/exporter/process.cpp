// SPDX-License-Identifier: Apache-2.0
#include "exporter/process.hpp"

#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/memory.hpp"
#include "exporter/exporter.hpp"

namespace athanor::exporter {
namespace {

void print_to(std::FILE* file, std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), file));
  std::fflush(file);
}

}  // namespace

int run_exporter_process(const std::vector<std::string>& arguments, const std::string& version) {
  const Interrupt interrupt;
  ::signal(SIGPIPE, SIG_IGN);
  memory::keep_little();
  return run_exporter(arguments, {.version = version,
                                  .out = [](std::string_view text) { print_to(stdout, text); },
                                  .err = [](std::string_view text) { print_to(stderr, text); },
                                  .interrupted = [&interrupt] { return interrupt.came(); }});
}

}  // namespace athanor::exporter
