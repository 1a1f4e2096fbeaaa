// SPDX-License-Identifier: Apache-2.0
// What a broken invariant does: one line on stderr, then abort (a core dump shows the rest).
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace athanor {

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "athanor: broken invariant at %s:%d: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace athanor
