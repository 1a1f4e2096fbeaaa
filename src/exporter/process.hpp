// SPDX-License-Identifier: Apache-2.0
// The exporter as the whole of a program: standard streams, and SIGTERM ends it.
#pragma once

#include <string>
#include <vector>

namespace athanor::exporter {

// Publishes the node's zones until SIGINT or SIGTERM; returns the exit code. To be called while the
// program has one thread.
int run_exporter_process(const std::vector<std::string>& arguments, const std::string& version);

}  // namespace athanor::exporter
