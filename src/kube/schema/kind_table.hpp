// SPDX-License-Identifier: Apache-2.0
// Kinds that are known by name at run time alone.
#pragma once

#include <string_view>

#include "kube/value/kind.hpp"

namespace athanor {

// Returns the kind of these names; the same names give the same object, which lives as long as the
// program. Thread-safe. To be asked for served kinds only: what was asked for is kept.
const Kind& kind_named(std::string_view group, std::string_view version, std::string_view name,
                       std::string_view plural, bool namespaced);

}  // namespace athanor
