// SPDX-License-Identifier: Apache-2.0
// Which objects belong to a workload: those it controls; orphans that its selector matches are
// adopted, those whose labels have left the selector are released.
#pragma once

#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::workloads {

// Returns the objects of `kind` that belong to `owner` (of `owner_kind`), by name, new ones
// included. Adds adoptions and releases to `plan`. `member` may refuse more (nullptr: nothing).
std::vector<Object> claim(const View& view, const Kind& kind, const Object& owner,
                          const Kind& owner_kind, Plan& plan,
                          bool (*member)(const Object& owner, const Object& object) = nullptr);

}  // namespace athanor::workloads
