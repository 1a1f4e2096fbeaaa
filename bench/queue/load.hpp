// SPDX-License-Identifier: Apache-2.0
// The published scheduling scenarios of Kueue (its test/performance/scheduler): queues in cohorts,
// Workloads that come at a pace, run for a while once they are admitted, and end. A client of any
// API server with the queueing's kinds.
#pragma once

#include <string>

namespace athanor::bench {

struct LoadOptions {
  bool large = false;  // 50,000 workloads over 1,000 queues; else 15,000 over 30
  bool alone = false;  // without an engine: the load admits its own, at once
  int share = 1;       // one of so many workloads of each set
  int engine_pid = 0;  // measured; 0: none
  int server_pid = 0;
};

// Runs it to its end and prints "name value unit" lines.
void run_load(const LoadOptions& options);

}  // namespace athanor::bench
