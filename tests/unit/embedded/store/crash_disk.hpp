// SPDX-License-Identifier: Apache-2.0
// A disk for SQLite that loses power: what was not synced is dropped, torn or reordered.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::store {

// While it lives it is SQLite's default file system, in memory. One at a time.
class CrashDisk {
 public:
  explicit CrashDisk(unsigned seed) : random_(seed) {
    vfs_ = *sqlite3_vfs_find(nullptr);
    below_ = sqlite3_vfs_find(nullptr);
    vfs_.zName = "crash-disk";
    vfs_.szOsFile = sizeof(Handle);
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    vfs_.xAccess = access;
    sqlite3_vfs_register(&vfs_, 1);
  }
  CrashDisk(const CrashDisk&) = delete;
  CrashDisk& operator=(const CrashDisk&) = delete;
  ~CrashDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(below_, 1);
  }

  // From here on nothing that is open works; each sector written since its file's last sync is
  // there or not, by chance.
  void lose_power() {
    const std::lock_guard lock(mutex_);
    ++epoch_;
    for (auto& [name, file] : files_) {
      std::string survived = file->synced;
      for (const Change& change : file->changes) {
        apply(change, survived);
      }
      file = std::make_shared<File>();
      file->now = survived;
      file->synced = survived;
    }
  }

 private:
  static constexpr std::size_t kSector = 512;
  struct Change {
    std::size_t offset = 0;
    std::string bytes{};
    bool truncates = false;  // to `offset`
  };
  struct File {
    std::string now{};
    std::string synced{};
    std::vector<Change> changes{};  // since the last sync
    std::set<const void*> readers{};
    const void* owner = nullptr;
    std::vector<std::unique_ptr<std::array<char, 32768>>> shared_memory{};
    std::array<std::set<const void*>, SQLITE_SHM_NLOCK> shared{};
    std::array<const void*, SQLITE_SHM_NLOCK> exclusive{};
  };
  struct Handle {
    sqlite3_file base;
    CrashDisk* disk;
    std::shared_ptr<File>* file;  // owned; SQLite frees the struct without a destructor
    int epoch;
  };

  void apply(const Change& change, std::string& content) {
    if (change.truncates) {
      if (random_() % 2 == 0) {
        content.resize(std::min(content.size(), change.offset));
      }
      return;
    }
    for (std::size_t at = 0; at < change.bytes.size(); at += kSector) {
      if (random_() % 2 == 0) {
        const std::string_view part = std::string_view(change.bytes).substr(at, kSector);
        content.resize(std::max(content.size(), change.offset + at + part.size()));
        content.replace(change.offset + at, part.size(), part);
      }
    }
  }

  // Runs `work` on the file of a handle that still works.
  template <class Work>
  static int with(sqlite3_file* base, Work work) {
    auto* handle = reinterpret_cast<Handle*>(base);
    const std::lock_guard lock(handle->disk->mutex_);
    return handle->epoch == handle->disk->epoch_ ? work(**handle->file) : SQLITE_IOERR;
  }

  static int close(sqlite3_file* base) {
    auto* handle = reinterpret_cast<Handle*>(base);
    const std::lock_guard lock(handle->disk->mutex_);
    (*handle->file)->readers.erase(base);
    if ((*handle->file)->owner == base) {
      (*handle->file)->owner = nullptr;
    }
    delete handle->file;  // NOLINT(cppcoreguidelines-owning-memory): see Handle
    return SQLITE_OK;
  }
  static int read(sqlite3_file* base, void* out, int size, sqlite3_int64 offset) {
    return with(base, [&](File& file) {
      const auto wanted = static_cast<std::size_t>(size);
      const auto start = std::min(file.now.size(), static_cast<std::size_t>(offset));
      const std::size_t there = std::min(wanted, file.now.size() - start);
      std::memset(out, 0, wanted);
      std::memcpy(out, file.now.data() + start, there);
      return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
    });
  }
  static int write(sqlite3_file* base, const void* bytes, int size, sqlite3_int64 offset) {
    return with(base, [&](File& file) {
      Change change{.offset = static_cast<std::size_t>(offset),
                    .bytes = {static_cast<const char*>(bytes), static_cast<std::size_t>(size)}};
      file.now.resize(std::max(file.now.size(), change.offset + change.bytes.size()));
      file.now.replace(change.offset, change.bytes.size(), change.bytes);
      file.changes.push_back(std::move(change));
      return SQLITE_OK;
    });
  }
  static int truncate(sqlite3_file* base, sqlite3_int64 size) {
    return with(base, [&](File& file) {
      file.now.resize(static_cast<std::size_t>(size));
      file.changes.push_back({.offset = static_cast<std::size_t>(size), .truncates = true});
      return SQLITE_OK;
    });
  }
  static int sync(sqlite3_file* base, int /*flags*/) {
    return with(base, [](File& file) {
      file.synced = file.now;
      file.changes.clear();
      return SQLITE_OK;
    });
  }
  static int file_size(sqlite3_file* base, sqlite3_int64* size) {
    return with(base, [&](File& file) {
      *size = static_cast<sqlite3_int64>(file.now.size());
      return SQLITE_OK;
    });
  }
  static int lock(sqlite3_file* base, int level) {
    return with(base, [&](File& file) {
      if (file.owner != nullptr && file.owner != base) {
        return SQLITE_BUSY;
      }
      file.readers.insert(base);
      if (level >= SQLITE_LOCK_EXCLUSIVE && file.readers.size() > 1) {
        return SQLITE_BUSY;
      }
      file.owner = level >= SQLITE_LOCK_RESERVED ? base : file.owner;
      return SQLITE_OK;
    });
  }
  static int unlock(sqlite3_file* base, int level) {
    return with(base, [&](File& file) {
      file.owner = file.owner == base ? nullptr : file.owner;
      if (level == SQLITE_LOCK_NONE) {
        file.readers.erase(base);
      }
      return SQLITE_OK;
    });
  }
  static int reserved(sqlite3_file* base, int* result) {
    return with(base, [&](File& file) {
      *result = file.owner != nullptr ? 1 : 0;
      return SQLITE_OK;
    });
  }
  static int control(sqlite3_file* /*base*/, int /*op*/, void* /*argument*/) {
    return SQLITE_NOTFOUND;
  }
  static int sector_size(sqlite3_file* /*base*/) { return static_cast<int>(kSector); }
  static int characteristics(sqlite3_file* /*base*/) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
  static int shm_map(sqlite3_file* base, int index, int size, int extend, void volatile** out) {
    return with(base, [&](File& file) {
      auto& regions = file.shared_memory;
      const auto wanted = static_cast<std::size_t>(index);
      while (extend != 0 && regions.size() <= wanted && size <= 32768) {
        regions.push_back(std::make_unique<std::array<char, 32768>>());
      }
      *out = wanted < regions.size() ? regions[wanted]->data() : nullptr;
      return SQLITE_OK;
    });
  }
  static int shm_lock(sqlite3_file* base, int offset, int count, int flags) {
    return with(base, [&](File& file) {
      const auto first = static_cast<std::size_t>(offset);
      const auto end = first + static_cast<std::size_t>(count);
      const bool taking = (flags & SQLITE_SHM_LOCK) != 0;
      const bool alone = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
      for (std::size_t i = first; taking && i < end; ++i) {
        const std::size_t others = file.shared[i].size() - file.shared[i].count(base);
        if ((file.exclusive[i] != nullptr && file.exclusive[i] != base) || (alone && others > 0)) {
          return SQLITE_BUSY;
        }
      }
      for (std::size_t i = first; i < end; ++i) {
        if (alone) {
          file.exclusive[i] = taking ? base : nullptr;
        } else if (taking) {
          file.shared[i].insert(base);
        } else {
          file.shared[i].erase(base);
        }
      }
      return SQLITE_OK;
    });
  }
  static void shm_barrier(sqlite3_file* base) {
    with(base, [](File&) { return SQLITE_OK; });
  }
  static int shm_unmap(sqlite3_file* base, int remove_it) {
    return with(base, [&](File& file) {
      for (std::size_t i = 0; i < file.shared.size(); ++i) {
        file.shared[i].erase(base);
        file.exclusive[i] = file.exclusive[i] == base ? nullptr : file.exclusive[i];
      }
      if (remove_it != 0) {
        file.shared_memory.clear();
      }
      return SQLITE_OK;
    });
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* base, int flags, int* result) {
    static constexpr sqlite3_io_methods kMethods = {.iVersion = 2,
                                                    .xClose = close,
                                                    .xRead = read,
                                                    .xWrite = write,
                                                    .xTruncate = truncate,
                                                    .xSync = sync,
                                                    .xFileSize = file_size,
                                                    .xLock = lock,
                                                    .xUnlock = unlock,
                                                    .xCheckReservedLock = reserved,
                                                    .xFileControl = control,
                                                    .xSectorSize = sector_size,
                                                    .xDeviceCharacteristics = characteristics,
                                                    .xShmMap = shm_map,
                                                    .xShmLock = shm_lock,
                                                    .xShmBarrier = shm_barrier,
                                                    .xShmUnmap = shm_unmap,
                                                    .xFetch = nullptr,
                                                    .xUnfetch = nullptr};
    auto* disk = static_cast<CrashDisk*>(vfs->pAppData);
    const std::lock_guard guard(disk->mutex_);
    std::shared_ptr<File> file;
    if (name == nullptr) {
      file = std::make_shared<File>();  // temporary
    } else {
      auto& entry = disk->files_[name];
      entry = entry == nullptr ? std::make_shared<File>() : entry;
      file = entry;
    }
    auto* handle = reinterpret_cast<Handle*>(base);
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): see Handle
    *handle = {{&kMethods}, disk, new std::shared_ptr<File>(std::move(file)), disk->epoch_};
    if (result != nullptr) {
      *result = flags;
    }
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int /*sync*/) {
    auto* disk = static_cast<CrashDisk*>(vfs->pAppData);
    const std::lock_guard guard(disk->mutex_);
    disk->files_.erase(name);
    return SQLITE_OK;
  }
  static int access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* result) {
    auto* disk = static_cast<CrashDisk*>(vfs->pAppData);
    const std::lock_guard guard(disk->mutex_);
    const auto found = disk->files_.find(name);
    *result = found != disk->files_.end() && !found->second->now.empty() ? 1 : 0;
    return SQLITE_OK;
  }

  sqlite3_vfs vfs_{};
  sqlite3_vfs* below_ = nullptr;
  std::mutex mutex_{};
  std::mt19937 random_;
  std::map<std::string, std::shared_ptr<File>> files_{};
  int epoch_ = 0;
};

}  // namespace athanor::store
