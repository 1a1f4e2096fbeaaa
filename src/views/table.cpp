// SPDX-License-Identifier: Apache-2.0
#include "views/table.hpp"

#include <algorithm>

#include "views/layout.hpp"

namespace athanor::views {

std::string Table::text(const TableStyle& style) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (std::size_t r = style.no_headers ? 1 : 0; r < rows_.size(); ++r) {
    widths.resize(std::max(widths.size(), rows_[r].size()));
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      widths[i] = std::max(widths[i], display_width(rows_[r][i]));
    }
  }
  const Layout layout = fit_columns(rows_.front(), std::move(widths), style.columns);
  std::string out;
  for (std::size_t r = style.no_headers ? 1 : 0; r < rows_.size(); ++r) {
    out += layout_line(layout, rows_[r], style.columns) + "\n";
  }
  return out;
}

}  // namespace athanor::views
