// SPDX-License-Identifier: Apache-2.0
// The names that a C++ source declares at namespace scope, and the names it uses unqualified, found
// on its text: just enough of the grammar for this repository's style. Input is the text with
// comments and literals blanked (sources.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::layering {

enum class NameKind : std::uint8_t { Function, Type, Alias, Value };

struct Declaration {
  std::string name{};
  std::string space{};  // the named namespaces around it: "athanor::das"
  NameKind kind = NameKind::Function;
  bool anonymous = false;  // in an anonymous namespace
  bool internal = false;   // that, static, or a constant without extern
  std::size_t line = 0;
};

// Lists the functions, types, aliases and variables that `code` declares at namespace scope.
// Definitions of members and operators are left out.
std::vector<Declaration> declarations_of(std::string_view code);

struct Use {
  std::string_view name{};
  bool called = false;  // followed by an opening parenthesis

  friend auto operator<=>(const Use&, const Use&) = default;
};

// Lists the identifiers of `code` that stand without a qualifier or object before them and are not
// the declarator of a local variable. The views point into `code`.
std::set<Use> unqualified_uses_of(std::string_view code);

}  // namespace athanor::layering
