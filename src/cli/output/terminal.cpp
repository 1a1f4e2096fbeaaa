// SPDX-License-Identifier: Apache-2.0
// Tables and colours.
#include "cli/output/terminal.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "runtime/view/usage.hpp"
#include "views/layout.hpp"

namespace athanor::cli {
namespace {

std::atomic<int> output_error{0};  // of the last write to standard output that was lost

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
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      if (descriptor_ == STDOUT_FILENO && errno != EPIPE) {
        output_error = errno;
      }
      return;
    }
  }
}

std::string lost_output() {
  const int error = output_error;
  return error == 0 ? std::string() : std::system_category().message(error);
}

std::string LiveTable::row(const std::vector<std::string>& cells, std::size_t columns) const {
  std::vector<std::size_t> widths = least_;
  widths.resize(titles_.size());
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    widths[i] = std::max(widths[i], views::display_width(titles_[i]));
  }
  if (!widths.empty() && columns > 0) {
    widths.back() = columns;  // its texts are as long as they are
  }
  return views::layout_line(views::fit_columns(titles_, std::move(widths), columns), cells,
                            columns) +
         "\n";
}

int fail(const Error& error) {
  Terminal(STDERR_FILENO).print(fmt::format("athanor: {}\n", error.message));
  return error.reason == kWrongUsage ? 2 : 1;
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
