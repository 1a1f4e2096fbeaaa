// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/container_identity.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "embedded/nodes/sandbox_security.hpp"

namespace athanor::nodes {
namespace {

constexpr std::pair<std::string_view, unsigned long> kCapabilities[] = {
    {"CHOWN", CAP_CHOWN},
    {"DAC_OVERRIDE", CAP_DAC_OVERRIDE},
    {"FSETID", CAP_FSETID},
    {"FOWNER", CAP_FOWNER},
    {"MKNOD", CAP_MKNOD},
    {"NET_RAW", CAP_NET_RAW},
    {"SETGID", CAP_SETGID},
    {"SETUID", CAP_SETUID},
    {"SETFCAP", CAP_SETFCAP},
    {"SETPCAP", CAP_SETPCAP},
    {"NET_BIND_SERVICE", CAP_NET_BIND_SERVICE},
    {"SYS_CHROOT", CAP_SYS_CHROOT},
    {"KILL", CAP_KILL},
    {"AUDIT_WRITE", CAP_AUDIT_WRITE},
    {"IPC_LOCK", CAP_IPC_LOCK},
    {"SYS_NICE", CAP_SYS_NICE},
    {"LEASE", CAP_LEASE}};
// Not among those that container runtimes give without being asked.
constexpr unsigned long kOnRequest[] = {CAP_IPC_LOCK, CAP_SYS_NICE, CAP_LEASE};

bool names(const Value& list, std::string_view name) {
  for (const Value& one : list.items()) {
    std::string_view text = one.as_string();
    if (text.starts_with("CAP_")) {
      text.remove_prefix(4);
    }
    if (text == "ALL" || text == name) {
      return true;
    }
  }
  return false;
}

bool is_kept(unsigned long capability, const Value& security) {
  for (const auto& [name, number] : kCapabilities) {
    if (number != capability) {
      continue;
    }
    bool kept = true;
    for (const unsigned long asked : kOnRequest) {
      kept = kept && asked != capability;
    }
    if (names(security["drop"], name)) {
      kept = false;
    }
    return kept || names(security["add"], name);
  }
  return false;
}

bool has_capability(unsigned capability) {
  constexpr unsigned kBits = 32;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capget, &header, data) == 0 &&
         (data[capability / kBits].effective >> (capability % kBits) & 1U) != 0;
}

// False in a user namespace in which one id is mapped.
bool may_set_groups() {
  char text[8] = {};
  const int file = ::open("/proc/self/setgroups", O_RDONLY | O_CLOEXEC);
  const bool readable = file >= 0 && ::read(file, text, sizeof text - 1) > 0;
  if (file >= 0) {
    ::close(file);
  }
  return has_capability(CAP_SETGID) && (!readable || std::string_view(text).starts_with("allow"));
}

}  // namespace

void limit_capabilities(const Value& security) {
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (!is_kept(capability, security)) {
      ::prctl(PR_CAPBSET_DROP, capability);
    }
  }
}

bool become_user(const Value& security) {
  if (security.empty() || !may_set_groups()) {
    return true;
  }
  const Value& user = security["user"];
  const Value& group = security["group"];
  std::vector<gid_t> groups;
  for (const Value& one : security["groups"].items()) {
    groups.push_back(static_cast<gid_t>(one.as_int()));
  }
  if (!user.is_integer() && !group.is_integer() && groups.empty()) {
    return true;
  }
  // What it writes to is its own: /dev/stdout can be opened.
  const auto id = static_cast<uid_t>(user.as_int());
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    static_cast<void>(::fchown(file, id, static_cast<gid_t>(-1)));
  }
  const auto main_group = static_cast<gid_t>(
      group.as_int(::geteuid() == 0 ? 0 : static_cast<std::int64_t>(::getegid())));
  const bool done = ::setgroups(groups.size(), groups.data()) == 0 &&
                    ::setresgid(main_group, main_group, main_group) == 0 &&
                    (!user.is_integer() || ::setresuid(id, id, id) == 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of the user forgets it
  return done;
}

std::string home_of(std::string_view passwd, std::int64_t user) {
  constexpr std::size_t kUser = 2;
  constexpr std::size_t kHome = 5;
  const std::string number = std::to_string(user);
  for (std::string_view line : words_of(passwd, '\n')) {
    std::string_view id;
    for (std::size_t field = 0; field < kHome; ++field) {  // fields may be empty
      const std::size_t end = std::min(line.find(':'), line.size());
      id = field == kUser ? line.substr(0, end) : id;
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    if (id == number && line.starts_with('/')) {
      return std::string(line.substr(0, line.find(':')));
    }
  }
  return "/";
}

}  // namespace athanor::nodes
