// SPDX-License-Identifier: Apache-2.0
#include "product/list.hpp"

#include "embedded/devices/system.hpp"
#include "embedded/kueue/system.hpp"
#include "embedded/nodes/system.hpp"
#include "embedded/tekton/system.hpp"
#include "embedded/wrapped/system.hpp"
#include "systems/appwrapper/system.hpp"
#include "systems/das/system.hpp"
#include "systems/fournos/system.hpp"
#include "systems/hearth/system.hpp"
#include "systems/numa/system.hpp"

namespace athanor {

Systems all_systems() {
  static const System* const kSystems[] = {
      // clang-format off
      &fournos::system(),
      &hearth::system(),
      &appwrapper::system(),
      &das::system(),
      &numa::system(),
      // Stand-ins for what a cluster brings itself.
      &fournos::labelled_namespaces_system(),
      &kueue::system(),
      &appwrapper::kueue_system(),
      &tekton::system(),
      &wrapped::system(),
      &nodes::system(),
      &devices::system(),
      &numa::emulation_system(),
      // clang-format on
  };
  return kSystems;
}

}  // namespace athanor
