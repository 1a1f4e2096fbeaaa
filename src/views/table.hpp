// SPDX-License-Identifier: Apache-2.0
// Table: rows in aligned columns, as text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace athanor::views {

// How a table is printed.
struct TableStyle {
  std::size_t columns = 0;  // of the terminal; 0: nothing is cut
  bool no_headers = false;
};

// Columns as wide as their widest cell, three blanks between, or what fit_columns() makes of them;
// no trailing blanks.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::size_t rows() const { return rows_.size() - 1; }
  [[nodiscard]] std::string text(std::size_t columns = 0) const {
    return text(TableStyle{.columns = columns});
  }
  [[nodiscard]] std::string text(const TableStyle& style) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace athanor::views
