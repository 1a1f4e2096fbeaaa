// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/memory_volume.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "embedded/nodes/process/view/mount_calls.hpp"
#include "embedded/nodes/process/view/private_root.hpp"

namespace athanor::nodes {
namespace {

// Mounts that the host makes later are seen here; those made here are not seen there.
std::string make_own_mounts() {
  const Ids ids = own_ids();
  if (::unshare(CLONE_NEWNS | (ids.user == 0 ? 0 : CLONE_NEWUSER)) != 0) {
    return mount_failure("unshare", "mount namespace");
  }
  if (ids.user != 0) {
    if (std::string problem = map_own_ids(ids); !problem.empty()) {
      return problem;
    }
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0
             ? std::string{}
             : mount_failure("make a slave of", "/");
}

}  // namespace

std::string mount_memory(const Value& order) {
  static const std::string kProblem = make_own_mounts();
  if (!kProblem.empty()) {
    return kProblem;
  }
  std::string options = "mode=0777";
  if (const std::int64_t size = order["sizeBytes"].as_int(); size > 0) {
    options += fmt::format(",size={}", size);
  }
  if (order["group"].is_integer() && ::geteuid() == 0) {
    options += fmt::format(",gid={}", order["group"].as_int());
  }
  const std::string path = order["path"].str();
  return ::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0
             ? std::string{}
             : mount_failure("mount tmpfs on", path);
}

}  // namespace athanor::nodes
