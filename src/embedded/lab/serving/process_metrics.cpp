// SPDX-License-Identifier: Apache-2.0
// Reading /proc/self.
#include "embedded/lab/serving/process_metrics.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/files/folder.hpp"

namespace athanor::lab {
namespace {

void add(std::string& out, std::string_view name, std::string_view type, double value) {
  fmt::format_to(std::back_inserter(out), "# TYPE {} {}\n{} {}\n", name, type, name, value);
}

// Returns 0 for what is no number.
double number_of(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Seconds since 1970 of the process' start: its ticks since boot, and when that was.
double start_seconds() {
  constexpr int kFieldsBeforeStart = 19;  // behind the name
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string field;
  for (int i = 0; i <= kFieldsBeforeStart; ++i) {
    fields >> field;
  }
  double boot = 0;
  std::ifstream system("/proc/stat");
  while (std::getline(system, line)) {
    if (line.starts_with("btime ")) {
      boot = number_of(line.substr(6));
    }
  }
  return boot + number_of(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds_of(const timeval& time) {
  constexpr double kMicroseconds = 1e6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicroseconds;
}

}  // namespace

std::string process_metrics() {
  std::string out;
  long pages = 0;
  std::ifstream memory("/proc/self/statm");
  if (memory >> pages >> pages) {
    add(out, "process_resident_memory_bytes", "gauge",
        static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  add(out, "process_cpu_seconds_total", "counter",
      seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  add(out, "process_start_time_seconds", "gauge", start_seconds());
  if (const auto files = list_folder("/proc/self/fd"); files.ok()) {
    add(out, "process_open_fds", "gauge", static_cast<double>(files->size()));
  }
  return out;
}

}  // namespace athanor::lab
