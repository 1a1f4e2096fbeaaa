// SPDX-License-Identifier: Apache-2.0
// Members of the answers of the JSON API (docs/spec/dashboard.md B5), in the notation of
// answer_notation.hpp. Pure.
#pragma once

#include <span>
#include <string_view>

namespace athanor::console {

// A schema that answers share.
struct NamedNotation {
  std::string_view name{};
  std::string_view notation{};
};
// Returns them; those of lists' rows have the name of their list's shape.
std::span<const NamedNotation> shared_schemas();

// Returns the notation of a route's answer, "GET /api/v1/queue"; empty: a list, or no JSON.
std::string_view answer_notation(std::string_view method, std::string_view path);

// Returns the number of answers that have a notation.
std::size_t answer_count();

}  // namespace athanor::console
