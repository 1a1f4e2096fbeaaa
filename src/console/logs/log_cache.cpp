// SPDX-License-Identifier: Apache-2.0
#include "console/logs/log_cache.hpp"

#include <algorithm>

namespace athanor::console {
namespace {

constexpr Duration kKeptFor = std::chrono::seconds(30);    // after it was read
constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // two logs of 100,000 lines

std::size_t bytes_of(const ReadLog& log) {
  std::size_t bytes = 0;
  for (const LogLine& line : *log.lines) {
    bytes += sizeof(LogLine) + line.at.size() + line.text.size() + line.source.size();
  }
  return bytes;
}

}  // namespace

void LogCache::keep(const std::string& key, const ReadLog& log, Instant now) {
  const std::size_t bytes = bytes_of(log);
  if (bytes > kMostBytes) {
    return;
  }
  const MutexLock lock(mutex_);
  for (auto one = kept_.begin(); one != kept_.end();) {
    const bool same = one->key == key;
    bytes_ -= same ? one->bytes : 0;
    one = same ? kept_.erase(one) : std::next(one);
  }
  remove_old(now);
  while (bytes_ + bytes > kMostBytes) {
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
  bytes_ += bytes;
  kept_.push_front({.key = key, .log = log, .bytes = bytes, .read = now});
}

std::optional<ReadLog> LogCache::find(const std::string& key, Instant now) {
  const MutexLock lock(mutex_);
  remove_old(now);
  const auto found = std::ranges::find(kept_, key, &Kept::key);
  if (found == kept_.end()) {
    return std::nullopt;
  }
  return found->log;
}

void LogCache::sweep(Instant now) {
  const MutexLock lock(mutex_);
  remove_old(now);
}

void LogCache::remove_old(Instant now) {
  for (auto one = kept_.begin(); one != kept_.end();) {
    const bool old = now - one->read > kKeptFor;
    bytes_ -= old ? one->bytes : 0;
    one = old ? kept_.erase(one) : std::next(one);
  }
}

}  // namespace athanor::console
