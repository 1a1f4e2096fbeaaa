// SPDX-License-Identifier: Apache-2.0
// Depth first with at most kDeepest open folders: what lies deeper is moved up and removed later.
#include "embedded/nodes/process/files/folder_removal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <string_view>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"

namespace athanor::nodes {
namespace {

constexpr int kDeepest = 64;

class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  // Empties the folder, whose descriptor it takes.
  void empty(int folder, int depth) {
    DIR* entries = ::fdopendir(folder);
    if (entries == nullptr) {
      ::close(folder);
      return;
    }
    while (const dirent* entry = ::readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): own stream
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || ::unlinkat(folder, name.c_str(), 0) == 0) {
        continue;
      }
      if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) {
        continue;
      }
      if (depth == kDeepest) {
        const std::string moved = fmt::format(".athanor-deep-{}", ++moved_);
        static_cast<void>(::renameat(folder, name.c_str(), top_, moved.c_str()));
        continue;
      }
      if (const int inner = open_folder(folder, name); inner >= 0) {
        empty(inner, depth + 1);
        ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
      }
    }
    ::closedir(entries);
  }
  [[nodiscard]] bool moved() { return std::exchange(moved_since_, moved_) != moved_; }

  // With rights of its owner, whatever the container has made of them. The mode is changed by a
  // descriptor: the name may become a link to a folder of the host meanwhile.
  static int open_folder(int parent, const std::string& name) {
    const int entry = ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (entry < 0) {
      return -1;
    }
    struct stat status {};
    if (::fstat(entry, &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU) {
      static_cast<void>(::chmod(fmt::format("/proc/self/fd/{}", entry).c_str(), S_IRWXU));
    }
    const int inner = ::openat(entry, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(entry);
    return inner;
  }

 private:
  int top_;
  int moved_ = 0;
  int moved_since_ = 0;
};

}  // namespace

void remove_folder(const std::string& path) {
  const int top = Removal::open_folder(AT_FDCWD, path);
  if (top < 0) {
    return;
  }
  Removal removal(top);
  do {
    if (const int again = ::openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); again >= 0) {
      removal.empty(again, 0);
    }
  } while (removal.moved());
  ::close(top);
  ::rmdir(path.c_str());
}

class FolderRemover::Impl {
 public:
  Impl() {
    thread_ = std::jthread([this] { loop(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void add(std::string path) {
    {
      const MutexLock lock(mutex_);
      paths_.push_back(std::move(path));
    }
    changed_.notify_all();
  }

 private:
  void loop() {
    MutexLock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this]() ATHANOR_REQUIRES(mutex_) { return ending_ || !paths_.empty(); });
      if (paths_.empty()) {
        return;
      }
      const std::string path = std::move(paths_.front());
      paths_.pop_front();
      lock.unlock();
      remove_folder(path);
      lock.lock();
    }
  }

  Mutex mutex_{};
  ConditionVariable changed_{};
  bool ending_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::deque<std::string> paths_ ATHANOR_GUARDED_BY(mutex_){};  // one a container: few
  std::jthread thread_{};
};

FolderRemover::FolderRemover() : impl_(std::make_unique<Impl>()) {}
FolderRemover::~FolderRemover() = default;
void FolderRemover::add(std::string path) {
  impl_->add(std::move(path));
}

}  // namespace athanor::nodes
