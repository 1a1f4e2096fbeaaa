// SPDX-License-Identifier: Apache-2.0
// Lists of the JSON API as data: which columns their rows have, for filters, orders and the
// published description.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::console {

// Types of columns. Number compares as one, Time is RFC 3339.
enum class ColumnType : std::uint8_t { Text, Number, Flag, Time, List, Object };

// One member of a row; a dotted name is a member of a member.
struct Column {
  std::string_view name{};
  ColumnType type = ColumnType::Text;
};

// A word of filters that stands for a column of another name: "gpu" for "hardware.gpuType".
struct FilterWord {
  std::string_view word{};
  std::string_view column{};
};

// The columns of one list.
struct ListShape {
  std::string_view name{};   // "jobs"
  std::string_view state{};  // the column whose values are counted: "phase"
  std::vector<Column> columns{};
  std::vector<FilterWord> words{};
};

// Returns the column of that name, or nullptr.
const Column* find_column(const ListShape& shape, std::string_view name);
// Returns the member of a row at a dotted name, or Null.
const Value& cell(const Value& row, std::string_view name);

}  // namespace athanor::console
