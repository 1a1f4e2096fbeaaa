// SPDX-License-Identifier: Apache-2.0
// CustomResourceDefinitions as a built-in kind: defaults and rules (docs/spec/apiserver.md 13.1).
#pragma once

#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the defaults and validation of the kind; a static.
const KindBehaviour& crd_behaviour();

// Returns the name of the version marked as storage; empty when there is none.
std::string_view storage_version(const Value& crd);

}  // namespace athanor::apiserver
