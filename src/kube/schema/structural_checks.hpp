// SPDX-License-Identifier: Apache-2.0
// The rules of structural schemas (docs/spec/apiserver.md 13.2); inside kube/ only.
#pragma once

#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Checks the schema as written; `path` names its root.
std::vector<FieldError> check_structural(const Value& open_api, std::string_view path);
// Checks that all defaults are valid, without unknown fields. `schema` was parsed from `open_api`.
std::vector<FieldError> check_defaults(const Value& open_api, const Schema& schema,
                                       std::string_view path);

}  // namespace athanor
