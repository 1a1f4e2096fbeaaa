// SPDX-License-Identifier: Apache-2.0
// Tables and colours.
#include "cli/terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace athanor::cli {
namespace {

// Code points, not bytes: names are ASCII, messages need not be.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// At most `columns` code points, the last of which says that there is more; 0: all.
std::string cut(const std::string& line, std::size_t columns) {
  if (columns == 0 || width(line) <= columns) {
    return line;
  }
  std::size_t end = 0;
  for (std::size_t left = columns; left > 0; --left) {
    do {
      ++end;
    } while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U);
  }
  // The last code point gives way to the mark.
  do {
    --end;
  } while ((static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U);
  return line.substr(0, end) + "…";
}

}  // namespace

Terminal::Terminal(int descriptor)
    : descriptor_(descriptor),
      interactive_(::isatty(descriptor) == 1),
      // NOLINTNEXTLINE(concurrency-mt-unsafe): read before any thread starts
      colours_(interactive_ && std::getenv("NO_COLOR") == nullptr) {}

std::size_t Terminal::columns() const {
  winsize size{};
  if (!interactive_ || ::ioctl(descriptor_, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  return size.ws_col;
}

std::string Terminal::paint(std::string_view text, Colour colour) const {
  if (!colours_ || colour == Colour::Plain) {
    return std::string(text);
  }
  int code = 0;
  switch (colour) {
    case Colour::Plain:
      code = 0;
      break;
    case Colour::Red:
      code = 31;
      break;
    case Colour::Green:
      code = 32;
      break;
    case Colour::Yellow:
      code = 33;
      break;
    case Colour::Blue:
      code = 34;
      break;
    case Colour::Grey:
      code = 90;
      break;
    case Colour::Bold:
      code = 1;
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Terminal::print(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string Table::text(std::size_t columns) const {
  std::vector<std::size_t> widths = least_;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) {
        line.append(widths[i] - width(row[i]) + 3, ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += cut(line, columns) + "\n";
  }
  return out;
}

int fail(const Error& error) {
  Terminal(STDERR_FILENO).print(fmt::format("athanor: {}\n", error.message));
  return 1;
}

Colour phase_colour(std::string_view phase) {
  if (phase == "Succeeded") {
    return Colour::Green;
  }
  if (phase == "Failed") {
    return Colour::Red;
  }
  if (phase == "Running" || phase == "Admitted") {
    return Colour::Blue;
  }
  return Colour::Yellow;
}

}  // namespace athanor::cli
