// SPDX-License-Identifier: Apache-2.0
// What the system knows of this process, as text for Prometheus (docs/spec/apiserver.md 4.5).
#pragma once

#include <string>

namespace athanor::lab {

// Returns process_resident_memory_bytes, process_cpu_seconds_total, process_start_time_seconds and
// process_open_fds; without what /proc does not have.
std::string process_metrics();

}  // namespace athanor::lab
