// SPDX-License-Identifier: Apache-2.0
// Layout of a table in a terminal's width. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::views {

// Widths of columns; 0: the column is left out.
struct Layout {
  std::vector<std::size_t> widths{};
  std::size_t gap = 3;  // blanks between two columns
};

// Fits columns of these natural widths into `columns` (0: any width). The last column, which says
// why or when, keeps 30 places: names and requests are cut first, then columns that a list can do
// without are left out, then all other columns are cut, cron lines and addresses last. Phases and
// reasons are cut where nothing else is left.
Layout fit_columns(const std::vector<std::string>& titles, std::vector<std::size_t> natural,
                   std::size_t columns);

// Returns the number of places that a text takes in a terminal: two for Chinese, Japanese and
// Korean letters, none for accents of their own.
std::size_t display_width(std::string_view text);
// Returns what fits into `places`, the last of which says that there is more.
std::string cut_text(const std::string& text, std::size_t places);
// Lays out one line: cells that are too long are cut, the last one at `columns` (0: not).
std::string layout_line(const Layout& layout, const std::vector<std::string>& cells,
                        std::size_t columns);

}  // namespace athanor::views
