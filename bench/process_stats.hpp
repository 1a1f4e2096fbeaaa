// SPDX-License-Identifier: Apache-2.0
// What /proc says about another process.
#pragma once

#include <cstdint>

namespace athanor::bench {

// Resident bytes now; 0 when the process is gone.
std::uint64_t resident_bytes(int pid);
// User and system CPU seconds used so far.
double cpu_seconds(int pid);

}  // namespace athanor::bench
