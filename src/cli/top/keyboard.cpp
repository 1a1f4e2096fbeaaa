// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keyboard.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "cli/output/terminal.hpp"

namespace athanor::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSequences[] = {
    {"\x1b[A", "up"},      {"\x1b[B", "down"},      {"\x1bOA", "up"},      {"\x1bOB", "down"},
    {"\x1b[5~", "pageup"}, {"\x1b[6~", "pagedown"}, {"\x1b[H", "pageup"},  {"\x1b[F", "pagedown"},
    {"\r", "enter"},       {"\n", "enter"},         {"\x7f", "backspace"}, {"\b", "backspace"},
    {"\x03", "interrupt"}, {"\x04", "interrupt"}};

// poll() returns when this comes: that is all it is for.
void on_resize(int /*signal*/) {}

}  // namespace

std::vector<std::string> keys_of(std::string_view bytes) {
  std::vector<std::string> keys;
  while (!bytes.empty()) {
    bool found = false;
    for (const auto& [sequence, key] : kSequences) {
      if (bytes.starts_with(sequence)) {
        keys.emplace_back(key);
        bytes.remove_prefix(sequence.size());
        found = true;
        break;
      }
    }
    if (found) {
      continue;
    }
    if (bytes.front() == '\x1b') {
      // A sequence of a key without a meaning here is swallowed up to its last letter.
      std::size_t end = 1;
      if (bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
        end = 2;
        while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) {
          ++end;
        }
        end += end < bytes.size() ? 1 : 0;
      } else {
        keys.emplace_back("escape");
      }
      bytes.remove_prefix(end);
      continue;
    }
    if (static_cast<unsigned char>(bytes.front()) >= ' ') {
      keys.emplace_back(1, bytes.front());
    }
    bytes.remove_prefix(1);
  }
  return keys;
}

struct LiveScreen::Saved {
  termios settings{};
  struct sigaction resize {};
  bool colours = false;
};

LiveScreen::LiveScreen() : saved_(std::make_unique<Saved>()) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the program has one thread
  saved_->colours = std::getenv("NO_COLOR") == nullptr;
  ::tcgetattr(STDIN_FILENO, &saved_->settings);
  termios raw = saved_->settings;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  struct sigaction action {};
  action.sa_handler = on_resize;
  ::sigaction(SIGWINCH, &action, &saved_->resize);
  Terminal(STDOUT_FILENO).print("\x1b[?1049h\x1b[?25l");
}

LiveScreen::~LiveScreen() {
  Terminal(STDOUT_FILENO).print("\x1b[?25h\x1b[?1049l");
  ::sigaction(SIGWINCH, &saved_->resize, nullptr);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_->settings);
}

TopSize LiveScreen::size() const {
  winsize window{};
  TopSize size{.colours = saved_->colours};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size.columns = window.ws_col;
    size.lines = window.ws_row;
  }
  return size;
}

void LiveScreen::show(const std::vector<std::string>& lines) const {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + "\x1b[K" + (i + 1 < lines.size() ? "\r\n" : "");
  }
  Terminal(STDOUT_FILENO).print(text + "\x1b[J");
}

std::vector<std::string> LiveScreen::wait(Duration patience) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  if (::poll(&input, 1, static_cast<int>(milliseconds)) <= 0) {
    return {};
  }
  char buffer[256];
  const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (count <= 0) {
    return {"interrupt"};  // the terminal is gone
  }
  return keys_of(std::string_view(buffer, static_cast<std::size_t>(count)));
}

}  // namespace athanor::cli
