// SPDX-License-Identifier: Apache-2.0
// The files of a container's log: PATH is written to, PATH.1 was before it, and so on.
#pragma once

#include <cstdint>
#include <string>

namespace athanor::nodes {

// A kubelet's containerLogMaxSize and containerLogMaxFiles.
struct LogLimits {
  std::int64_t bytes = std::int64_t{10} << 20;  // above which the next file begins
  int files = 5;                                // with the one that is written to
};

// Returns the file that was written `age` rotations ago; PATH itself for 0.
std::string log_file(const std::string& path, int age);
// Renames PATH to PATH.1 and so on; the oldest goes. False: PATH is where it was.
bool shift_logs(const std::string& path, int files);
// Renames all files of a log, in place of those of the new name.
void move_logs(const std::string& path, const std::string& new_path);

// Opens PATH for writing behind what is there; -1 if it cannot be, or is no regular file.
int open_log_to_write(const std::string& path);
// Opens what was written after the file that is open as `file`, which may be gone from the folder:
// then the oldest that is kept. -1: `file` is the newest, or the next is not made yet.
int open_next_log(const std::string& path, int file);

}  // namespace athanor::nodes
