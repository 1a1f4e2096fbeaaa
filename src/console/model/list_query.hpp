// SPDX-License-Identifier: Apache-2.0
// ListQuery: filter, order, columns and page of a list of the JSON API (docs/spec/dashboard.md B5,
// rule G3). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "console/model/row_table.hpp"

namespace athanor::console {

// A parameter that is wrong.
struct FieldError {
  std::string field{};    // "filter"
  std::string message{};  // names the part that is wrong
  std::string token{};    // of a filter: the word that is wrong
};

// One word of a filter.
struct FilterToken {
  enum class Compare : std::uint8_t { Is, Less, More };
  std::string column{};  // empty: any text of the row
  std::string also{};    // another column that may have the value
  std::string key{};     // in lower case; tokens of one key are alternatives
  std::string value{};   // in lower case; "*" stands for any text; of `label`: "k" or "k=v"
  bool negated = false;
  Compare compare = Compare::Is;
  double number = 0;  // of a Number
  Instant instant{};  // of a Time
};

// Parameters of a list, checked against its shape.
struct ListQuery {
  std::vector<FilterToken> filter{};
  struct Order {
    std::string column{};
    bool descending = false;
  };
  std::vector<Order> order{};
  std::vector<std::string> fields{};  // empty: all
  std::size_t limit = 200;
  std::size_t offset = 0;  // rows before the page
};

using QueryPairs = std::span<const std::pair<std::string, std::string>>;

// Reads the parameters; names that no list has are ignored. Errors name parameter and word.
Result<ListQuery, FieldError> parse_query(const ListShape& shape, QueryPairs parameters,
                                          Instant now);
// Returns true if the row passes every word of the filter, without those of `ignored`.
bool passes(const ListQuery& query, const Value& row, std::string_view ignored = {});
// Returns {items, total, continue, facets} of the rows: filtered, sorted, cut. Ties are in order of
// namespace and name.
Value list_answer(const ListShape& shape, const ListQuery& query, std::span<const Value> rows);

}  // namespace athanor::console
