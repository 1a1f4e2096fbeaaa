// SPDX-License-Identifier: Apache-2.0
// What both forms of label selectors (text and object) check; for kube/selector*.cpp only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "kube/names/selector.hpp"

namespace athanor {

// Checks the key, the number of values and each value; BadRequest with the reference's text.
Result<void> check_requirement(const LabelRequirement& requirement);

// Parses a decimal int64 as strconv.ParseInt does.
std::optional<std::int64_t> parse_label_integer(std::string_view text);

}  // namespace athanor
