// SPDX-License-Identifier: Apache-2.0
// Log lines.
#include "embedded/nodes/process/logs/log_format.hpp"

#include <unistd.h>

namespace athanor::nodes {
namespace {

constexpr std::size_t kLongestLine =
    16384;  // longer ones are cut into several, as container runtimes do

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count <= 0) {
      return;  // a full disk loses log lines, not the container
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void append_log(int file, std::string& partial, std::string_view output, Instant now) {
  const std::string time = format_micro_time(now);
  std::string lines;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view part = output.substr(0, end);
    if (partial.empty()) {
      partial = time + " F ";
    }
    partial += part;
    if (end == std::string_view::npos) {
      if (partial.size() > kLongestLine) {
        partial[time.size() + 1] = 'P';
        lines += partial + "\n";
        partial.clear();
      }
      break;
    }
    lines += partial + "\n";
    partial.clear();
    output.remove_prefix(end + 1);
  }
  write_all(file, lines);
}

void flush_log(int file, std::string& partial) {
  if (partial.empty()) {
    return;
  }
  if (const std::size_t mark = partial.find(" F "); mark != std::string::npos) {
    partial[mark + 1] = 'P';
  }
  write_all(file, partial + "\n");
  partial.clear();
}

LogLine parse_log_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space + 3 > line.size()) {
    return {.text = line};
  }
  return {.time = line.substr(0, space),
          .text = line.substr(space + 3),
          .finished = line[space + 1] == 'F'};
}

}  // namespace athanor::nodes
