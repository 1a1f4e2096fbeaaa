// SPDX-License-Identifier: Apache-2.0
// The commit that this build was configured from.
#pragma once

#include <string_view>

namespace athanor {

// Returns the full hash of the git commit; "unknown" where the source was no git checkout.
std::string_view revision();

}  // namespace athanor
