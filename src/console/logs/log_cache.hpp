// SPDX-License-Identifier: Apache-2.0
// LogCache: logs that were read just now. A page reads a long log in parts, and each part would
// read and split all of it again (docs/spec/dashboard.md L5). Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "console/logs/log_text.hpp"

namespace athanor::console {

// A log that was read; archived: some of it comes from the archive.
struct ReadLog {
  std::shared_ptr<const std::vector<LogLine>> lines{};
  bool archived = false;
};

// Keeps a log for half a minute, and no more than 32 MiB of all.
class LogCache {
 public:
  // Keeps a log under a key that names its viewer, too. A larger one than all room is not kept.
  void keep(const std::string& key, const ReadLog& log, Instant now);
  // Returns the log of the key, if it is still here.
  std::optional<ReadLog> find(const std::string& key, Instant now);
  // Removes expired logs.
  void sweep(Instant now);

 private:
  struct Kept {
    std::string key{};
    ReadLog log{};
    std::size_t bytes = 0;
    Instant read{};
  };
  void remove_old(Instant now) ATHANOR_REQUIRES(mutex_);

  Mutex mutex_{};
  std::list<Kept> kept_ ATHANOR_GUARDED_BY(mutex_){};  // the newest first
  std::size_t bytes_ ATHANOR_GUARDED_BY(mutex_) = 0;
};

}  // namespace athanor::console
