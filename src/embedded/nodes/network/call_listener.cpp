// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/call_listener.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

namespace athanor::nodes {
namespace {

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
constexpr unsigned long kWaitKillable = 1UL << 5U;
#else
constexpr unsigned long kWaitKillable = SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
#endif
constexpr std::uint32_t kShortest = 16;                      // an IPv4 address
constexpr std::uint32_t kLocalSocket = sizeof(sockaddr_un);  // most often: no question is asked

void add_step(std::vector<sock_filter>& program, unsigned code, std::uint32_t k,
              unsigned char yes = 0, unsigned char no = 0) {
  program.push_back({.code = static_cast<std::uint16_t>(code), .jt = yes, .jf = no, .k = k});
}

// Returns the program; the length of the address is the third argument of both calls.
std::vector<sock_filter> call_filter() {
  std::vector<sock_filter> program;
  add_step(program, BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  add_step(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 1, 0);
  add_step(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 4);
  add_step(program, BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + std::size_t{16});
  add_step(program, BPF_JMP | BPF_JEQ | BPF_K, kLocalSocket, 2, 0);
  add_step(program, BPF_JMP | BPF_JGE | BPF_K, kShortest, 0, 1);
  add_step(program, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  add_step(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return program;
}

int install_filter() {
  std::vector<sock_filter> program = call_filter();
  const sock_fprog whole{.len = static_cast<unsigned short>(program.size()),
                         .filter = program.data()};
  const auto with = [&](unsigned long flags) {
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &whole));
  };
  const int listener = with(kWaitKillable);  // since Linux 5.19: signals do not repeat a call
  return listener >= 0 || errno != EINVAL ? listener : with(0);
}

bool send_listener(int channel, int listener, SupervisedPod pod) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof listener)] = {};
  iovec part{.iov_base = &pod, .iov_len = sizeof pod};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof listener);
  std::memcpy(CMSG_DATA(head), &listener, sizeof listener);
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) == sizeof pod;
}

}  // namespace

bool supervise_calls(int channel, const SupervisedPod& pod) {
  const int listener = install_filter();
  if (listener < 0) {
    return false;
  }
  const bool sent = send_listener(channel, listener, pod);
  ::close(listener);
  return sent;
}

bool can_supervise_calls() {
  static const bool kCan = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      ::_exit(install_filter() >= 0 ? 0 : 1);
    }
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
  }();
  return kCan;
}

}  // namespace athanor::nodes
