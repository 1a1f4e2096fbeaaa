// SPDX-License-Identifier: Apache-2.0
#include "systems/list.hpp"

#include "embedded/kueue/system.hpp"
#include "embedded/nodes/system.hpp"
#include "embedded/tekton/system.hpp"
#include "fournos/system.hpp"
#include "hearth/system.hpp"

namespace athanor {

Systems all_systems() {
  static const System* const kSystems[] = {
      &fournos::system(), &hearth::system(), &kueue::system(), &tekton::system(), &nodes::system(),
  };
  return kSystems;
}

}  // namespace athanor
