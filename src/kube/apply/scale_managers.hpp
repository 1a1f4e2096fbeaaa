// SPDX-License-Identifier: Apache-2.0
// Owners of an object's replicas, as its Scale shows them and back (docs/spec/apiserver.md
// 11.3): a Scale is owned by those who own the replicas of what it scales.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

// The members that lead to the replicas in that API version of the object; nullopt: the version is
// not known, empty: it has none.
using ReplicasPath =
    std::function<std::optional<std::vector<std::string>>(std::string_view api_version)>;

// Returns the managedFields of the Scale of an object with the managedFields `parent`. Null: none.
Value scale_entries(const Value& parent, const ReplicasPath& path);

// Returns the object's managedFields after a write of its Scale left `scale` there. `api_version`
// is the object's. Renames owners by an update, without a time, as the reference does.
Value parent_entries(const Value& parent, const Value& scale, std::string_view api_version,
                     const ReplicasPath& path);

}  // namespace athanor
