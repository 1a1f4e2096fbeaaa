// SPDX-License-Identifier: Apache-2.0
// Where a system's objects are, kind by kind: it watches, and may be allowed, no more than that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/value/kind.hpp"
#include "runtime/view/step.hpp"

namespace athanor {

// Namespaces in which a kind is watched and written.
struct Place {
  std::vector<std::string> watched{};  // namespaces; empty: the kind is not watched
  std::vector<std::string> written{};
};
// For kinds with namespaces.
using Places = std::map<const Kind*, Place, KindOrder>;

}  // namespace athanor
