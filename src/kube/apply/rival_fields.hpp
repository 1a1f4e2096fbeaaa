// SPDX-License-Identifier: Apache-2.0
// Part of metadata.managedFields that caches keep: the writers beside the one that applied an
// object.
#pragma once

#include <set>
#include <string>

#include "kube/value/value.hpp"

namespace athanor {

// Names of field managers.
using Managers = std::set<std::string, std::less<>>;

// Removes metadata.managedFields from `object`, unless one of `appliers` applied it and another
// manager wrote it, too: then the entries of the main path remain. O(entries).
void keep_rival_fields(Value& object, const Managers& appliers);

}  // namespace athanor
