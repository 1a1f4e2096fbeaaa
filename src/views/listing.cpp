// SPDX-License-Identifier: Apache-2.0
#include "views/listing.hpp"

#include <algorithm>
#include <utility>

namespace athanor::views {

Value Listing::to_value() const {
  Value columns = Value::list();
  for (const std::string& title : titles) {
    columns.push_back(title);
  }
  Value all = Value::list();
  for (const ListRow& row : rows) {
    Value cells = Value::object();
    for (std::size_t i = 0; i < std::min(titles.size(), row.cells.size()); ++i) {
      cells.set(titles[i], row.cells[i]);
    }
    all.push_back(Value::object({{"cells", std::move(cells)}, {"object", row.object.body()}}));
  }
  return Value::object({{"columns", std::move(columns)}, {"rows", std::move(all)}});
}

}  // namespace athanor::views
