// SPDX-License-Identifier: Apache-2.0
// What a policy's expressions get wrong about the kinds that its constraints name
// (docs/spec/apiserver.md 15.3, status.typeChecking).
#pragma once

#include "embedded/kinds/resource_info.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns [{fieldRef, warning}], empty: nothing is wrong. Rules with wildcards name no kind.
Value expression_warnings(const Value& policy, const ResourceTable& table);

}  // namespace athanor::apiserver
