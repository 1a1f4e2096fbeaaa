// SPDX-License-Identifier: Apache-2.0
// The words of a list's filter (docs/spec/dashboard.md G3). Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "console/model/list_query.hpp"

namespace athanor::console {

// Reads words that blanks separate: free text, "key:value", "-key:value", "label:k=v", "age:<2h";
// "*" in a value stands for any text. Errors name the word.
Result<std::vector<FilterToken>, FieldError> parse_filter(const ListShape& shape,
                                                          std::string_view text, Instant now);
// Returns true if a row passes: of the words of one key one has to hold, of others each. Words of
// the column `ignored` are skipped.
bool passes_filter(std::span<const FilterToken> filter, const Value& row, std::string_view ignored);

}  // namespace athanor::console
