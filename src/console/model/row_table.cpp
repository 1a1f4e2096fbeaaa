// SPDX-License-Identifier: Apache-2.0
#include "console/model/row_table.hpp"

#include <algorithm>

namespace athanor::console {

const Column* find_column(const ListShape& shape, std::string_view name) {
  const auto found = std::ranges::find(shape.columns, name, &Column::name);
  return found == shape.columns.end() ? nullptr : &*found;
}

const Value& cell(const Value& row, std::string_view name) {
  const Value* at = &row;
  while (true) {
    const std::size_t dot = name.find('.');
    at = &(*at)[name.substr(0, dot)];
    if (dot == std::string_view::npos) {
      return *at;
    }
    name.remove_prefix(dot + 1);
  }
}

}  // namespace athanor::console
