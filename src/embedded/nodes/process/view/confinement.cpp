// SPDX-License-Identifier: Apache-2.0
// A seccomp filter of one comparison for each refused call; everything else passes.
#include "embedded/nodes/process/view/confinement.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace athanor::nodes {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;  // no filter
#endif

constexpr std::uint32_t kX32 = 0x4000'0000;  // the other calls of x86-64
constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                      CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;

// What the default profiles of container runtimes refuse without further capabilities.
constexpr int kRefused[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd,
    SYS_process_madvise,
    // mounts and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_setns, SYS_unshare, SYS_name_to_handle_at, SYS_open_by_handle_at,
    SYS_quotactl, SYS_swapon, SYS_swapoff,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
#ifdef SYS_quotactl_fd
    SYS_quotactl_fd,
#endif
    // the kernel
    SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_reboot, SYS_syslog, SYS_acct, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    SYS_fanotify_init, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_lookup_dcookie, SYS_vhangup,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_create_module,
    SYS_get_kernel_syms, SYS_query_module, SYS_modify_ldt,
#endif
    // keys, names and clocks of the machine
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
    SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex};

void add(std::vector<sock_filter>& program, unsigned code, std::uint32_t k, unsigned char yes = 0,
         unsigned char no = 0) {
  program.push_back({.code = static_cast<std::uint16_t>(code), .jt = yes, .jf = no, .k = k});
}
void load(std::vector<sock_filter>& program, std::size_t offset) {
  add(program, BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
void answer(std::vector<sock_filter>& program, std::uint32_t what) {
  add(program, BPF_RET | BPF_K, what);
}
constexpr std::uint32_t fails_with(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

std::vector<sock_filter> filter() {
  std::vector<sock_filter> program;
  load(program, offsetof(seccomp_data, arch));
  add(program, BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  answer(program, fails_with(ENOSYS));  // calls of another architecture would pass unseen
  load(program, offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  add(program, BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1);
  answer(program, fails_with(ENOSYS));
#endif
  for (const int call : kRefused) {
    add(program, BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    answer(program, fails_with(EPERM));
  }
  // Its flags are behind a pointer; the C library goes on with clone().
  add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
  answer(program, fails_with(ENOSYS));
  add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
  load(program, offsetof(seccomp_data, args));
  add(program, BPF_JMP | BPF_JSET | BPF_K, kNamespaces, 0, 1);
  answer(program, fails_with(EPERM));
  answer(program, SECCOMP_RET_ALLOW);
  return program;
}

}  // namespace

void confine() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || kArchitecture == 0) {
    return;
  }
  std::vector<sock_filter> program = filter();
  const sock_fprog whole{.len = static_cast<unsigned short>(program.size()),
                         .filter = program.data()};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0);
}

}  // namespace athanor::nodes
