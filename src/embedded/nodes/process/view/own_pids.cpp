// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/own_pids.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "base/check.hpp"
#include "base/files/descriptor.hpp"
#include "embedded/nodes/process/view/private_root.hpp"

namespace athanor::nodes {
namespace {

int code_of(int status) {
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

bool try_own_pids() {
  const Ids ids = own_ids();
  const int child = fork_into_own_pids();
  if (child == 0) {
    const bool works =
        enter_made_namespaces(ids).empty() &&
        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
    ::_exit(works ? 0 : 1);
  }
  return child > 0 && exit_code_of(child) == 0;
}

}  // namespace

bool can_have_own_pids() {
  static const bool kCan = try_own_pids();
  return kCan;
}

int fork_into_own_pids() {
  const unsigned long user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
  return static_cast<int>(::syscall(
      SYS_clone, user | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | SIGCHLD, nullptr,
      nullptr, nullptr, nullptr));
}

int fork_into_pids_of(int child) {
  const std::string path = fmt::format("/proc/{}/ns/pid", child);
  const Descriptor target(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  if (!target.valid() || !own.valid() || ::setns(target.get(), CLONE_NEWPID) != 0) {
    return -1;
  }
  const auto forked =
      static_cast<int>(::syscall(SYS_clone, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | SIGCHLD,
                                 nullptr, nullptr, nullptr, nullptr));
  if (forked != 0) {
    const bool back = ::setns(own.get(), CLONE_NEWPID) == 0;
    ATHANOR_CHECK(back, "a process may return to its own PID namespace");
  }
  return forked;
}

int exit_code_of(int child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return code_of(status);
}

void reap_until_end(int command) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  while (true) {
    int status = 0;
    for (int child = ::waitpid(-1, &status, WNOHANG); child > 0;
         child = ::waitpid(-1, &status, WNOHANG)) {
      if (child == command) {
        ::_exit(code_of(status));
      }
    }
    if (::sigwaitinfo(&awaited, nullptr) == SIGTERM) {
      ::kill(-command, SIGTERM);
      ::kill(command, SIGTERM);  // before its setsid(), the group does not exist yet
    }
  }
}

}  // namespace athanor::nodes
