// SPDX-License-Identifier: Apache-2.0
// Fields that others added to an object which an operator applies, read from its managedFields
// (docs/controllers.md, What others may change).
#pragma once

#include <optional>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor {

// Returns `object` as it is without what managers other than `applier` added to `fields`, which
// `applier` applies; nullopt: nothing, or `applier` did not apply it. Metadata, status and the
// fields that others may write stay.
std::optional<Value> without_additions(const Value& object, const Value& fields,
                                       std::string_view applier);

// Returns the merge patch that takes them out.
std::optional<Value> removal_of_additions(const Value& object, const Value& fields,
                                          std::string_view applier);

}  // namespace athanor
