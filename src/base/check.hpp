// SPDX-License-Identifier: Apache-2.0
// Invariants: a broken one is a programming error and ends the program. Never for input from
// outside.
#pragma once

namespace athanor {
[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);
}  // namespace athanor

#define ATHANOR_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) \
               : ::athanor::check_failed(#condition, why, __FILE__, __LINE__))
