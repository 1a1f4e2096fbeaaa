// SPDX-License-Identifier: Apache-2.0
// The list of custom kinds: one line a group, each group in a header of its own.
#include "api/kinds.hpp"

#include <vector>

#include "api/fournos.hpp"
#include "api/hearth.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"

namespace athanor::api {

std::span<const CustomKind* const> custom_kinds() {
  static const std::vector<const CustomKind*> kKinds = [] {
    std::vector<const CustomKind*> kinds;
    for (const auto group : {fournos_kinds(), hearth_kinds(), kueue_kinds(), tekton_kinds()}) {
      kinds.insert(kinds.end(), group.begin(), group.end());
    }
    return kinds;
  }();
  return kKinds;
}

}  // namespace athanor::api
