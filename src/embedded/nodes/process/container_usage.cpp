// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/container_usage.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

// Returns the PID namespace of a process; 0: it has ended.
std::uint64_t pid_namespace(int pid) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &status) == 0 ? status.st_ino : 0;
}

std::int64_t field_at(const std::vector<std::string_view>& fields, std::size_t at) {
  return at < fields.size() ? whole_number(fields[at]).value_or(0) : 0;
}

void add_process(int pid, ContainerUsage& usage) {
  // After the name in parentheses: state is field 3; utime, stime, cutime, cstime are 14 to 17.
  constexpr std::size_t kFirstTime = 11;
  constexpr std::size_t kTimes = 4;
  const auto status = read_text_file(fmt::format("/proc/{}/stat", pid));
  const auto memory = read_text_file(fmt::format("/proc/{}/statm", pid));
  if (!status.ok() || !memory.ok()) {
    return;  // it has ended
  }
  const std::size_t close = status->rfind(')');
  const auto fields = words_of(std::string_view(*status).substr(close + 1), ' ');
  std::int64_t ticks = 0;
  for (std::size_t i = 0; i < kTimes; ++i) {
    ticks += field_at(fields, kFirstTime + i);
  }
  usage.cpu_nanoseconds += ticks * (kNanoseconds / ::sysconf(_SC_CLK_TCK));
  const auto sizes = words_of(trimmed(*memory), ' ');
  usage.memory_bytes += (field_at(sizes, 1) - field_at(sizes, 2)) * ::sysconf(_SC_PAGESIZE);
}

// Returns the anonymous memory of a process, with its part of shared pages; nullopt: unreadable.
std::optional<std::int64_t> anonymous_memory(int pid) {
  constexpr std::string_view kField = "\nPss_Anon:";
  const auto text = read_text_file(fmt::format("/proc/{}/smaps_rollup", pid));
  const std::size_t at = text.ok() ? text->find(kField) : std::string::npos;
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const auto words = words_of(trimmed(std::string_view(*text).substr(at + kField.size(), 32)), ' ');
  const auto kibibytes = words.empty() ? std::nullopt : whole_number(words[0]);
  return kibibytes ? std::optional(*kibibytes << 10) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> memory_without_shared_pages(int first_process) {
  const std::uint64_t space = pid_namespace(first_process);
  if (space == pid_namespace(::getpid())) {
    return anonymous_memory(first_process);
  }
  std::optional<std::int64_t> sum;
  for (const std::string& name : names_in_folder("/proc")) {
    const auto pid = whole_number(name);
    if (!pid || pid_namespace(static_cast<int>(*pid)) != space) {
      continue;
    }
    if (const auto used = anonymous_memory(static_cast<int>(*pid))) {
      sum = sum.value_or(0) + *used;
    }
  }
  return sum;
}

std::map<int, ContainerUsage> usage_of(std::span<const int> first_processes) {
  std::map<int, ContainerUsage> usage;
  std::map<std::uint64_t, int> by_namespace;
  const std::uint64_t own = pid_namespace(::getpid());
  for (const int pid : first_processes) {
    const std::uint64_t found = pid_namespace(pid);
    usage[pid] = {};
    if (found == own) {
      add_process(pid, usage[pid]);
    } else if (found != 0) {
      by_namespace[found] = pid;
    }
  }
  if (by_namespace.empty()) {
    return usage;
  }
  for (const std::string& name : names_in_folder("/proc")) {
    const auto pid = whole_number(name);
    const auto found =
        pid ? by_namespace.find(pid_namespace(static_cast<int>(*pid))) : by_namespace.end();
    if (found != by_namespace.end()) {
      add_process(static_cast<int>(*pid), usage[found->second]);
    }
  }
  return usage;
}

}  // namespace athanor::nodes
