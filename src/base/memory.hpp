// SPDX-License-Identifier: Apache-2.0
// Free memory that the allocator keeps for later: tcmalloc where it is linked (the option
// ATHANOR_TCMALLOC), else glibc's.
#pragma once

namespace athanor::memory {

// Gives free memory back to the system. To be called after much was let go of: it costs
// milliseconds.
void give_back();

// For a program that runs for weeks: threads keep little, at the price of some speed. Before the
// first thread starts.
void keep_little();

}  // namespace athanor::memory
