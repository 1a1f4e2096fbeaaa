// SPDX-License-Identifier: Apache-2.0
// resource-topology-exporter: the exporter of NUMA zones and nothing else (docs/spec/numa.md 9).
// Links neither gRPC nor a second allocator: it runs on every node, and its memory counts.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/contain.hpp"
#include "exporter/process.hpp"

int main(int count, char** arguments) {
  // Exceptions mean a broken invariant or no memory: nothing to go on with.
  try {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read before any thread starts
    const char* wish = std::getenv("ATHANOR_BROKEN_INVARIANTS");
    athanor::set_broken_invariants_fatal(wish != nullptr && std::string_view(wish) == "fatal");
    return athanor::exporter::run_exporter_process({arguments + 1, arguments + count},
                                                   ATHANOR_VERSION);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
