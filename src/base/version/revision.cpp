// SPDX-License-Identifier: Apache-2.0
// The one file that depends on the commit (src/CMakeLists.txt defines ATHANOR_REVISION).
#include "base/version/revision.hpp"

namespace athanor {

std::string_view revision() {
  return ATHANOR_REVISION;
}

}  // namespace athanor
