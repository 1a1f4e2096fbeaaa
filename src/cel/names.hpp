// SPDX-License-Identifier: Apache-2.0
// How property names of JSON become identifiers of CEL (docs/spec/apiserver.md 13.5, typing).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace athanor::cel {

// "a-b" to "a__dash__b", "in" to "__in__"; nullopt when the name cannot be accessed at all.
std::optional<std::string> escape_name(std::string_view name);
// Words that no identifier may be.
bool is_reserved_word(std::string_view word);

}  // namespace athanor::cel
