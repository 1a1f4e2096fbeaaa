// SPDX-License-Identifier: Apache-2.0
// The table from a built-in resource to its behaviour.
#include "embedded/apiserver/kind_behaviour.hpp"

namespace athanor::apiserver {

const KindBehaviour* kind_behaviour(std::string_view /*group*/, std::string_view /*version*/,
                                    std::string_view /*plural*/) {
  return nullptr;
}

}  // namespace athanor::apiserver
