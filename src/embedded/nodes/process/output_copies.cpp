// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/output_copies.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace athanor::nodes {
namespace {

// What a command's descendants may still write once it has ended.
constexpr int kLateMilliseconds = 100;

struct Copy {
  int from = -1;  // reading end of what the command writes
  int write = -1;
  int log = -1;
  int file = -1;
};

std::string failure(std::string_view what, const std::string& path) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  return fmt::format("{} {}: {}", what, path, std::strerror(errno));
}

// Opens a file of the copies, with the folders above it.
int open_file(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0755);
  }
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void write_copy(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return;  // a full disk costs the copy, not the step
    }
  }
}

// False at the end of what can be read.
bool pass_on(Copy& copy) {
  std::array<char, 65536> chunk{};
  const ssize_t count = ::read(copy.from, chunk.data(), chunk.size());
  if (count > 0) {
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(count));
    write_copy(copy.log, bytes);
    write_copy(copy.file, bytes);
    return true;
  }
  if (count == 0 || errno != EINTR) {
    ::close(copy.from);
    copy.from = -1;
    return false;
  }
  return true;
}

// Copies until there is no writer, or the command has ended and its children are silent.
[[noreturn]] void copy_until_end(std::array<Copy, 2>& copies, pid_t child) {
  int status = 0;
  bool ended = false;
  while (copies[0].from >= 0 || copies[1].from >= 0) {
    std::array<pollfd, 2> polled{{{copies[0].from, POLLIN, 0}, {copies[1].from, POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), kLateMilliseconds);
    if (ready == 0 && ended) {
      break;
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies.at(i).from >= 0 && polled.at(i).revents != 0) {
        static_cast<void>(pass_on(copies.at(i)));
      }
    }
    ended = ended || ::waitpid(child, &status, WNOHANG) == child;
  }
  while (!ended && (::waitpid(child, &status, 0) == child || errno == EINTR)) {
    ended = true;
  }
  if (WIFSIGNALED(status)) {
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
    ::_exit(128 + WTERMSIG(status));
  }
  ::_exit(WEXITSTATUS(status));
}

}  // namespace

std::string copy_output(const OutputFiles& files) {
  std::array<Copy, 2> copies{};
  const std::array<const std::string*, 2> paths{&files.output, &files.error};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const std::string& path = *paths.at(i);
    if (path.empty()) {
      continue;
    }
    std::array<int, 2> ends{};
    copies.at(i).file = open_file(path);
    if (copies.at(i).file < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return failure("copy output to", path);
    }
    copies.at(i).from = ends[0];
    copies.at(i).write = ends[1];
    copies.at(i).log = static_cast<int>(i) + STDOUT_FILENO;
  }
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return failure("fork for", files.output + files.error);
  }
  for (Copy& copy : copies) {
    if (copy.write >= 0) {
      if (child == 0) {
        ::dup2(copy.write, copy.log);
      }
      ::close(copy.write);
    }
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return ::getppid() == self ? std::string() : "the container has ended";
  }
  // The group gets the signals; the command decides what becomes of them.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    ::signal(signal, SIG_IGN);
  }
  copy_until_end(copies, child);
}

}  // namespace athanor::nodes
