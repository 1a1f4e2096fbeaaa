// SPDX-License-Identifier: Apache-2.0
// From fork to exec.
#include "embedded/nodes/process/container_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "embedded/nodes/process/private_root.hpp"

namespace athanor::nodes {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  const std::string line = "athanor: " + message + "\n";
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(kCannotStart);
}

std::string error_text() {
  return std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
}

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Neither what the spawner blocks nor what the program ignores is the container's business.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void redirect(int output) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

std::vector<std::string> environment_of(const Value& order) {
  std::vector<std::string> environment{fmt::format("{}={}", kContainerMark, order["id"].as_int())};
  for (const Value& pair : order["env"].items()) {
    environment.push_back(fmt::format("{}={}", pair[0].as_string(), pair[1].as_string()));
    if (pair[0].as_string() == "PATH") {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and execvpe looks commands up with it
      ::setenv("PATH", pair[1].str().c_str(), 1);
    }
  }
  return environment;
}

}  // namespace

void become_container(const Value& order, int output, int parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(kCannotStart);  // it died before the line above
  }
  reset_signals();
  redirect(output);
  ::umask(S_IWGRP | S_IWOTH);
  std::vector<Mount> mounts;
  for (const Value& mount : order["mounts"].items()) {
    mounts.push_back({mount["from"].str(), mount["to"].str(), mount["readOnly"].as_bool()});
  }
  if (const std::string problem = enter_private_root(order["scratch"].str(), std::move(mounts));
      !problem.empty()) {
    give_up(problem);
  }
  const std::string folder = order["cwd"].str();
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
    give_up(fmt::format("working directory {}: {}", folder, error_text()));
  }
  std::vector<std::string> environment = environment_of(order);
  std::vector<std::string> command;
  for (const Value& word : order["argv"].items()) {
    command.push_back(word.str());
  }
  if (command.empty()) {
    give_up("no command");
  }
  ::execvpe(command.front().c_str(), c_strings(command).data(), c_strings(environment).data());
  give_up(fmt::format("{}: {}", command.front(), error_text()));
}

}  // namespace athanor::nodes
