// SPDX-License-Identifier: Apache-2.0
// fieldPath of a rule: ".a.b", "['a.b']" (docs/spec/apiserver.md 13.5).
#pragma once

#include <string>
#include <string_view>

#include "kube/schema/schema.hpp"

namespace athanor::cel {

// Checks whether the path names a part of the schema.
bool is_field_path(std::string_view path, const Schema& schema);
// Returns the path as errors append it to the schema's: ['b'] of a map is [b], of an object .b.
std::string normal_field_path(std::string_view path, const Schema& schema);

}  // namespace athanor::cel
