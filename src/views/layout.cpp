// SPDX-License-Identifier: Apache-2.0
#include "views/layout.hpp"

#include <algorithm>
#include <array>

namespace athanor::views {
namespace {

constexpr std::size_t kLastColumn = 30;
constexpr std::size_t kLeastName = 12;
constexpr std::size_t kLeastCell = 6;
constexpr std::size_t kLastResort = 8;  // of names
constexpr std::array<std::string_view, 6> kNames{"NAME",  "WORKLOAD",  "REQUESTS",
                                                 "QUEUE", "NAMESPACE", "GPUS"};
constexpr std::array<std::string_view, 3> kStates{"PHASE", "PLACE", "STATE"};
constexpr std::array<std::string_view, 2> kOptional{"START", "DURATION"};

bool is_among(auto& known, const std::string& title) {
  return std::ranges::find(known, title) != known.end();
}

class Fitter {
 public:
  Fitter(const std::vector<std::string>& titles, Layout& layout, std::size_t columns)
      : titles_(titles), layout_(layout), columns_(columns) {}

  void run() {
    if (excess() == 0) {
      return;
    }
    layout_.gap = 2;
    // Behind its share, the last column takes what is left.
    layout_.widths.back() = std::min(layout_.widths.back(), kLastColumn);
    shrink(kLeastName, [&](std::size_t i) { return is_among(kNames, titles_[i]); });
    for (const std::string_view title : kOptional) {
      const auto at = std::ranges::find(titles_, title);
      if (excess() > 0 && at != titles_.end() && at + 1 != titles_.end()) {
        layout_.widths[static_cast<std::size_t>(at - titles_.begin())] = 0;
      }
    }
    // Below their titles, and states at all, only where even short names do not help.
    const auto is_other = [&](std::size_t i) { return !is_among(kNames, titles_[i]); };
    shrink(kLeastCell, [&](std::size_t i) {
      return is_other(i) && !is_among(kStates, titles_[i]) &&
             layout_.widths[i] > display_width(titles_[i]);
    });
    shrink(kLastResort, [&](std::size_t i) { return is_among(kNames, titles_[i]); });
    shrink(kLeastCell, is_other);
  }

 private:
  [[nodiscard]] std::size_t excess() const {
    std::size_t total = 0;
    for (const std::size_t width : layout_.widths) {
      total += width == 0 ? 0 : width + layout_.gap;
    }
    total -= std::min(total, layout_.gap);
    return total > columns_ ? total - columns_ : 0;
  }
  // Takes from the widest of these columns until all fits or each has its least.
  void shrink(std::size_t least, const auto& takes_part) {
    while (excess() > 0) {
      std::size_t widest = titles_.size();
      for (std::size_t i = 0; i + 1 < titles_.size(); ++i) {
        if (takes_part(i) && layout_.widths[i] > least &&
            (widest == titles_.size() || layout_.widths[i] > layout_.widths[widest])) {
          widest = i;
        }
      }
      if (widest == titles_.size()) {
        return;
      }
      --layout_.widths[widest];
    }
  }

  const std::vector<std::string>& titles_;
  Layout& layout_;
  std::size_t columns_;
};

}  // namespace

Layout fit_columns(const std::vector<std::string>& titles, std::vector<std::size_t> natural,
                   std::size_t columns) {
  natural.resize(titles.size());
  Layout layout{.widths = std::move(natural)};
  for (std::size_t i = 0; i < titles.size(); ++i) {
    layout.widths[i] = std::max<std::size_t>(layout.widths[i], 1);
  }
  if (columns > 0 && !titles.empty()) {
    Fitter(titles, layout, columns).run();
  }
  return layout;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string cut_text(const std::string& text, std::size_t places) {
  if (display_width(text) <= places) {
    return text;
  }
  if (places == 0) {
    return {};
  }
  std::size_t end = 0;
  for (std::size_t left = places - 1; left > 0; --left) {
    do {
      ++end;
    } while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  }
  return text.substr(0, end) + "…";
}

std::string layout_line(const Layout& layout, const std::vector<std::string>& cells,
                        std::size_t columns) {
  std::string line;
  std::size_t used = 0;
  bool begun = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t width = i < layout.widths.size() ? layout.widths[i] : 0;
    if (width == 0) {
      continue;
    }
    if (begun) {
      line.append(layout.gap, ' ');
      used += layout.gap;
    }
    begun = true;
    const bool last = i + 1 == cells.size();
    if (last) {
      line += columns == 0 ? cells[i] : cut_text(cells[i], columns - std::min(columns, used));
      break;
    }
    const std::string cell = columns == 0 ? cells[i] : cut_text(cells[i], width);
    const std::size_t shown = display_width(cell);
    line += cell;
    line.append(width - std::min(width, shown), ' ');
    used += std::max(width, shown);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return columns == 0 ? line : cut_text(line, columns);
}

}  // namespace athanor::views
