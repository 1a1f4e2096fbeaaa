// SPDX-License-Identifier: Apache-2.0
// The exporter as a process: `athanor numa exporter`, and this program under the name
// resource-topology-exporter, which the operator's DaemonSet starts (docs/spec/numa.md 9).
#pragma once

#include <string>
#include <vector>

namespace athanor::cli {

// Runs until SIGTERM or SIGINT; returns the exit code.
int run_exporter(const std::vector<std::string>& arguments);

}  // namespace athanor::cli
