// SPDX-License-Identifier: Apache-2.0
#include "agent/node/programs.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/files/text_file.hpp"
#include "base/process/child_process.hpp"

namespace athanor::agent {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::chrono::seconds kMostTime{10};
constexpr std::chrono::milliseconds kStep{10};
constexpr std::chrono::milliseconds kSettles{300};  // a daemon that cannot work ends by then
constexpr std::chrono::seconds kPoliteness{5};
constexpr std::size_t kMostOutput = 4096;

Error problem(const das::Command& command, const std::string& what) {
  return Error::unavailable(
      fmt::format("{}: {}: {}", command.purpose, command.words.front(), what));
}

// `output`: where both streams go.
Result<int> spawn(const das::Command& command, int output, short flags) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = child_environment(command.env);
  std::vector<char*> arguments = exec_pointers(words);
  std::vector<char*> environment = exec_pointers(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK));
  int pid = 0;
  const int failed = ::posix_spawnp(&pid, arguments.front(), &actions, &attributes,
                                    arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return problem(command, std::generic_category().message(failed));
  }
  return pid;
}

// nullopt: it runs on.
std::optional<int> wait_until(int pid, Steady::time_point end) {
  while (true) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      return status;
    }
    if (Steady::now() >= end) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kStep);
  }
}

std::string ending(int status) {
  return WIFEXITED(status) ? fmt::format("it exited with {}", WEXITSTATUS(status))
                           : fmt::format("it ended by signal {}", WTERMSIG(status));
}

// A file for what a program writes, of which the beginning is kept: a daemon may write for years.
int open_output() {
  const int file = ::memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  static_cast<void>(::ftruncate(file, kMostOutput));
  static_cast<void>(::fcntl(file, F_ADD_SEALS, F_SEAL_GROW));
  return file;
}

std::string first_line(int file) {
  std::array<char, kMostOutput> text{};
  const ssize_t length = ::pread(file, text.data(), text.size() - 1, 0);
  const std::string all(length > 0 ? text.data() : "");
  return all.substr(0, all.find('\n'));
}

std::string with_line(const std::string& what, int file) {
  const std::string line = first_line(file);
  return line.empty() ? what : fmt::format("{}: {}", what, line);
}

}  // namespace

Result<void> run_program(const das::Command& command) {
  const int output = open_output();
  const auto pid = spawn(command, output, 0);
  if (!pid.ok()) {
    ::close(output);
    return pid.error();
  }
  const auto status = wait_until(*pid, Steady::now() + kMostTime);
  Result<void> result;
  if (!status) {
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    result = problem(command, "it did not end within 10 s");
  } else if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    result = problem(command, with_line(ending(*status), output));
  }
  ::close(output);
  return result;
}

Result<int> start_program(const das::Command& command) {
  const int output = open_output();
  auto pid = spawn(command, output, POSIX_SPAWN_SETSID);
  if (pid.ok()) {
    if (const auto status = wait_until(*pid, Steady::now() + kSettles)) {
      pid = problem(command, with_line(ending(*status), output));
    }
  }
  ::close(output);
  return pid;
}

bool is_running(int pid, const std::string& program) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) == pid) {
    return false;
  }
  const auto words = read_text_file(fmt::format("/proc/{}/cmdline", pid));
  return words.ok() && words->find(program) != std::string::npos;
}

void end_program(int pid) {
  ::kill(pid, SIGTERM);
  const auto end = Steady::now() + kPoliteness;
  while (::waitpid(pid, nullptr, WNOHANG) != pid && ::kill(pid, 0) == 0) {
    if (Steady::now() >= end) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace athanor::agent
