// SPDX-License-Identifier: Apache-2.0
#include "agent/kubelet/folder_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>

namespace athanor::agent {

FolderWatch::FolderWatch(const std::string& folder)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      notify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  if (notify_ >= 0) {
    ::inotify_add_watch(notify_, folder.c_str(),
                        IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM);
  }
}

FolderWatch::~FolderWatch() {
  ::close(wake_);
  ::close(notify_);
}

void FolderWatch::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof(one)));
}

bool FolderWatch::wait(std::chrono::milliseconds patience) const {
  std::array<pollfd, 2> fds{pollfd{wake_, POLLIN, 0}, pollfd{notify_, POLLIN, 0}};
  ::poll(fds.data(), fds.size(), static_cast<int>(patience.count()));
  constexpr std::size_t kEvents = 4096;
  std::array<char, kEvents> rest{};
  bool changed = false;
  while (::read(notify_, rest.data(), rest.size()) > 0) {
    changed = true;
  }
  static_cast<void>(!::read(wake_, rest.data(), sizeof(std::uint64_t)));
  return changed;
}

}  // namespace athanor::agent
