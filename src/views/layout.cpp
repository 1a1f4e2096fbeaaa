// SPDX-License-Identifier: Apache-2.0
#include "views/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace athanor::views {
namespace {

constexpr std::size_t kLastColumn = 30;
constexpr std::size_t kLeastName = 12;
constexpr std::size_t kLeastCell = 6;
constexpr std::size_t kLastResort = 8;  // of names
constexpr std::array<std::string_view, 11> kNames{"NAME",      "WORKLOAD", "REQUESTS", "QUEUE",
                                                  "NAMESPACE", "GPUS",     "OBJECT",   "NODE",
                                                  "UUID",      "IMAGE",    "OWNER"};
constexpr std::array<std::string_view, 9> kStates{
    "PHASE", "PLACE", "STATE", "HEALTH", "KUBECONFIG", "SCHEDULE", "ADDRESS", "TYPE", "REASON"};

// A column that is left out where names of 12 places do not help.
struct OptionalColumn {
  std::string_view title{};
  std::string_view last{};  // in lists with this last column; empty: in all
};
constexpr std::array<OptionalColumn, 13> kOptional{{{.title = "START"},
                                                    {.title = "DURATION"},
                                                    {.title = "LAST", .last = "NEXT"},
                                                    {.title = "PROJECT", .last = "NEXT"},
                                                    {.title = "OWNER", .last = "NEXT"},
                                                    {.title = "CLUSTER", .last = "NEXT"},
                                                    {.title = "ZONE", .last = "NEXT"},
                                                    {.title = "AGE", .last = "DESCRIPTION"},
                                                    {.title = "PROJECT", .last = "DESCRIPTION"},
                                                    {.title = "OWNER", .last = "DESCRIPTION"},
                                                    {.title = "STARTED", .last = "DATA"},
                                                    {.title = "PID", .last = "DATA"},
                                                    {.title = "LAB", .last = "DATA"}}};

// Columns that are left out before names fall below 12 places, and before states are cut.
constexpr std::array<OptionalColumn, 2> kBeforeShortNames{
    {{.title = "COUNT", .last = "MESSAGE"}, {.title = "OWNER", .last = "MESSAGE"}}};
constexpr std::array<OptionalColumn, 1> kBeforeCutStates{{{.title = "TYPE", .last = "MESSAGE"}}};

bool is_among(auto& known, const std::string& title) {
  return std::ranges::find(known, title) != known.end();
}

// Ranges of code points that take two places: Chinese, Japanese and Korean letters, their forms of
// full width, pictures.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
constexpr std::array<Range, 12> kWide{{{0x1100, 0x115f},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0xa4cf},
                                       {0xa960, 0xa97c},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f9ff},
                                       {0x20000, 0x3fffd}}};
// Those that are drawn over the letter before them.
constexpr std::array<Range, 5> kJoined{
    {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};

bool lies_in(const auto& ranges, std::uint32_t point) {
  return std::ranges::any_of(
      ranges, [point](const Range& range) { return range.first <= point && point <= range.last; });
}

// A code point with the places that it takes.
struct Letter {
  std::uint32_t point = 0;
  std::size_t places = 1;
};

// Reads the code point at `at` and moves `at` behind it. What is no UTF-8 counts by its first byte.
Letter next_letter(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(at++);
  Letter letter{.point = first < 0xc0U   ? first
                         : first < 0xe0U ? first & 0x1fU
                         : first < 0xf0U ? first & 0x0fU
                                         : first & 0x07U};
  while (at < text.size() && (byte(at) & 0xc0U) == 0x80U) {
    letter.point = (letter.point << 6U) | (byte(at++) & 0x3fU);
  }
  letter.places = lies_in(kJoined, letter.point) ? 0 : lies_in(kWide, letter.point) ? 2 : 1;
  return letter;
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
    const std::vector<std::size_t> natural = layout_.widths;
    const auto is_name = [&](std::size_t i) { return is_among(kNames, titles_[i]); };
    const auto is_other = [&](std::size_t i) { return !is_name(i); };
    shrink(kLeastName, is_name);
    leave_out(kOptional);
    // Below their titles, and states at all, only where even short names do not help.
    shrink(kLeastCell, [&](std::size_t i) {
      return is_other(i) && !is_among(kStates, titles_[i]) &&
             layout_.widths[i] > display_width(titles_[i]);
    });
    leave_out(kBeforeShortNames);
    shrink(kLastResort, is_name);
    if (leave_out(kBeforeCutStates)) {
      // The names get back what the column leaves.
      for (std::size_t i = 0; i < titles_.size(); ++i) {
        layout_.widths[i] = is_name(i) && layout_.widths[i] > 0 ? natural[i] : layout_.widths[i];
      }
      shrink(kLastResort, is_name);
    }
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
  // Leaves out columns, one after the other, until all fits; returns true if it left one out.
  bool leave_out(const auto& columns) {
    bool left = false;
    for (const OptionalColumn& column : columns) {
      const auto at = std::ranges::find(titles_, column.title);
      if (excess() > 0 && at != titles_.end() && at + 1 != titles_.end() &&
          (column.last.empty() || column.last == titles_.back())) {
        layout_.widths[static_cast<std::size_t>(at - titles_.begin())] = 0;
        left = true;
      }
    }
    return left;
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
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    width += next_letter(text, at).places;
  }
  return width;
}

std::string cut_text(const std::string& text, std::size_t places) {
  if (display_width(text) <= places) {
    return text;
  }
  if (places == 0) {
    return {};
  }
  std::size_t end = 0;
  for (std::size_t left = places - 1;;) {
    std::size_t next = end;
    const Letter letter = next_letter(text, next);
    if (letter.places > left) {
      break;
    }
    left -= letter.places;
    end = next;
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
