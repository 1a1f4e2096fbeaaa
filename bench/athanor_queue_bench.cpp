// SPDX-License-Identifier: Apache-2.0
// The queueing's speed:
//   athanor_queue_bench decisions                             the admission cycle by itself
//   athanor_queue_bench load published|large ENGINE SERVER    the published scenarios; pids, 0:
//   none
//                       [alone] [SHARE]                       without an engine; a part of the jobs
// scripts/bench-queue starts it and compares with the targets. $KUBECONFIG says where the server
// is.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "queue/decisions.hpp"
#include "queue/load.hpp"

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends it
int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "decisions") {
    return athanor::bench::measure_decisions() ? 0 : 1;
  }
  if (what != "load" || argc < 5) {
    fmt::print(stderr,
               "usage: athanor_queue_bench decisions | load published|large ENGINE SERVER "
               "[alone|engine [SHARE]]\n");
    return 2;
  }
  athanor::bench::run_load({.large = std::string_view(argv[2]) == "large",
                            .alone = argc > 5 && std::string_view(argv[5]) == "alone",
                            .share = argc > 6 ? std::max(1, std::atoi(argv[6])) : 1,
                            .engine_pid = std::atoi(argv[3]),
                            .server_pid = std::atoi(argv[4])});
  return 0;
}
