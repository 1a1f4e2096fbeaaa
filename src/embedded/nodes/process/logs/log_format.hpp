// SPDX-License-Identifier: Apache-2.0
// Container logs on disk: one line each, "<RFC 3339 time> F <text>"; "P" instead of "F" when the
// container had not finished the line.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"

namespace athanor::nodes {

// Appends output to the log file; an unfinished line waits in `partial`.
void append_log(int file, std::string& partial, std::string_view output, Instant now);
// Writes what waits in `partial` as an unfinished line.
void flush_log(int file, std::string& partial);

// One line of a log; the texts point into it.
struct LogLine {
  std::string_view time{};
  std::string_view text{};
  bool finished = true;
};
// Parses one line of the file, without its line end.
LogLine parse_log_line(std::string_view line);

}  // namespace athanor::nodes
