// SPDX-License-Identifier: Apache-2.0
// How property names of JSON become identifiers of CEL (docs/spec/apiserver.md 13.5, typing).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cel/values/type.hpp"

namespace athanor::cel {

// Escapes "a-b" as "a__dash__b", "in" as "__in__"; nullopt when the name is not accessible at all.
std::optional<std::string> escape_name(std::string_view name);
// Words that no identifier may be.
bool is_reserved_word(std::string_view word);
// Finds the property that an expression means by `name`: reserved words may be written as they are,
// too (`self.namespace` is `self.__namespace__`). nullptr: there is none.
const TypeField* find_field(const Type& type, std::string_view name);

}  // namespace athanor::cel
