// SPDX-License-Identifier: Apache-2.0
// Reading /proc.
#include "embedded/nodes/process/strays.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <string>
#include <string_view>

#include "embedded/nodes/process/container_process.hpp"

namespace athanor::nodes {
namespace {

std::string read_start(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  std::string text(most, '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < most; size += static_cast<std::size_t>(count)) {
    count = ::read(file, text.data() + size, most - size);
    if (count < 0) {
      break;
    }
  }
  ::close(file);
  text.resize(size);
  return text;
}

template <class Number>
std::optional<Number> number_at_start(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<int> own_children() {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // far beyond any process limit
  std::vector<int> pids;
  const std::string text =
      read_start(fmt::format("/proc/self/task/{}/children", ::getpid()), kMost);
  std::string_view rest = text;
  while (const auto pid = number_at_start<int>(rest)) {
    pids.push_back(*pid);
    const std::size_t space = rest.find(' ');
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  return pids;
}

std::optional<std::int64_t> marked_container(int pid) {
  constexpr std::size_t kLongestMark = 64;  // the mark is the first variable
  const std::string text = read_start(fmt::format("/proc/{}/environ", pid), kLongestMark);
  const std::string mark = fmt::format("{}=", kContainerMark);
  return text.starts_with(mark)
             ? number_at_start<std::int64_t>(std::string_view(text).substr(mark.size()))
             : std::nullopt;
}

std::optional<std::uint64_t> mount_namespace(int pid) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}/ns/mnt", pid).c_str(), &status) == 0
             ? std::optional<std::uint64_t>(status.st_ino)
             : std::nullopt;
}

void kill_tree(int pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

}  // namespace athanor::nodes
