// SPDX-License-Identifier: Apache-2.0
#include "support/source_dir/source_dir.hpp"

#include <cstdlib>

namespace athanor::test {

const char* source_dir() {
  static const char* const kMoved =
      std::getenv("ATHANOR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return kMoved != nullptr ? kMoved : ATHANOR_SOURCE_DIR;
}

}  // namespace athanor::test
