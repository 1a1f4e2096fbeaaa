// SPDX-License-Identifier: Apache-2.0
// Production's half of the program: every controller, the port to a cluster and the webhook server,
// whole. It links without SQLite and without the embedded API server; a test looks at its symbols.
#include <cstdio>

#include "product/list.hpp"

int main() {
  std::printf("%zu systems\n", athanor::all_systems().size());
  return 0;
}
