// SPDX-License-Identifier: Apache-2.0
#include "support/source_dir/source_dir.hpp"

namespace athanor::test {

const char* source_dir() {
  return ATHANOR_SOURCE_DIR;
}

}  // namespace athanor::test
