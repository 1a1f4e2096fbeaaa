// SPDX-License-Identifier: Apache-2.0
#include "base/process/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/files/descriptor.hpp"
#include "base/process/child_process.hpp"

namespace athanor {
namespace {

// A started child; killed and waited for on destruction.
class Child {
 public:
  Child(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
      static_cast<void>(wait());
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The wait status.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
  bool own_group_;
};

// Starts it with `output` as standard output; 0 or the error's number.
int spawn(const ProgramCall& call, int output, pid_t& pid) {
  std::vector<std::string> arguments = call.words;
  std::vector<std::string> environment = child_environment(call.variables);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  if (!call.terminal) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (call.takes_errors) {
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t none{};
  sigset_t usual{};
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (!call.terminal) {
    // A group of its own, so that all of it can be ended; one that asks needs the terminal's.
    flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  const int error =
      ::posix_spawnp(&pid, arguments.front().c_str(), &actions, &attributes,
                     exec_pointers(arguments).data(), exec_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Appends what is there; false at the end or beyond the limit.
bool drain(int descriptor, std::size_t limit, std::string& output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      output.append(buffer.data(), static_cast<std::size_t>(count));
      if (output.size() > limit) {
        return false;
      }
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

// Reads until the child has ended; false when it takes longer or says too much.
bool collect(const Child& child, int pipe, const ProgramCall& call, std::string& output) {
  const std::size_t limit = call.output_limit;
  using SteadyClock = std::chrono::steady_clock;
  const auto deadline = SteadyClock::now() + call.timeout;
  // The C library of Debian 12 declares pidfd_open() for C alone.
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
  bool open = true;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0 || process.get() < 0 ||
        (call.cancelled != nullptr && call.cancelled->load())) {
      return false;
    }
    constexpr std::chrono::milliseconds kLook{
        100};  // how often a call that may end early is seen to
    const auto pause = call.cancelled == nullptr ? left : std::min(left, kLook);
    std::array<pollfd, 2> waits{{{.fd = process.get(), .events = POLLIN, .revents = 0},
                                 {.fd = open ? pipe : -1, .events = POLLIN, .revents = 0}}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(pause.count())) < 0 && errno != EINTR) {
      return false;
    }
    if (waits[1].revents != 0) {
      open = drain(pipe, limit, output);
    }
    if (output.size() > limit) {
      return false;
    }
    if (waits[0].revents != 0) {
      drain(pipe, limit, output);
      return output.size() <= limit;
    }
  }
}

}  // namespace

ProgramResult run_program(const ProgramCall& call) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {.ending = ProgramEnding::Failed, .code = errno};
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  const int error = spawn(call, writing.get(), pid);
  writing.reset();
  if (error != 0) {
    return {.ending = error == ENOENT ? ProgramEnding::NotFound : ProgramEnding::Failed,
            .code = error};
  }
  Child child(pid, !call.terminal);
  ProgramResult result;
  if (!collect(child, reading.get(), call, result.output)) {
    result.ending =
        result.output.size() > call.output_limit ? ProgramEnding::Talkative : ProgramEnding::Late;
    return result;
  }
  const int status = child.wait();
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace athanor
