// SPDX-License-Identifier: Apache-2.0
#include "console/history/lock_log.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace athanor::console {
namespace {

constexpr std::size_t kMostEndedLocks = 100'000;  // in memory; as many as the store keeps

std::string cluster_in(const Value& record) {
  return record["ns"].str() + "/" + record["cluster"].str();
}

// Returns the identity of a record's lock.
std::string lock_in(const Value& record) {
  return cluster_in(record) + "\n" + record["holder"].str() + "\n" + record["from"].str();
}

// Returns the lock that a cluster has now; nullopt: none.
std::optional<Value> lock_now(const Object& cluster, Instant now) {
  const Value& status = cluster.status();
  if (!status["locked"].as_bool()) {
    return std::nullopt;
  }
  const std::string since = status["ownerSetAt"].str();
  return Value::object({{"at", format_time(now)},
                        {"ns", cluster.ns()},
                        {"cluster", cluster.name()},
                        {"holder", cluster.spec()["owner"]},
                        {"from", since.empty() ? format_time(now) : since},
                        {"expires", status["lockExpiresAt"]}});
}

// Returns the record of a lock's end; it is not later than the lock may last.
Value ended(Value record, Instant now) {
  const auto expires = parse_time(record["expires"].as_string());
  const Instant end = expires ? std::min(*expires, now) : now;
  record.set("at", format_time(end));
  record.set("to", format_time(end));
  record.erase("expires");
  return record;
}

}  // namespace

std::vector<Value> LockLog::see(const Object& cluster, Instant now) {
  const std::string key = cluster.key().text();
  auto lock = lock_now(cluster, now);
  if (lock) {
    unlocked_.erase(key);
  } else {
    unlocked_.insert(key);
  }
  const auto open = open_.find(key);
  const bool same = open != open_.end() && lock && open->second["holder"] == (*lock)["holder"] &&
                    (open->second["from"] == (*lock)["from"] ||
                     cluster.status()["ownerSetAt"].as_string().empty());
  if (same) {
    open->second.set("expires", (*lock)["expires"]);
    return {};
  }
  std::vector<Value> news = end(key, now);
  if (lock) {
    keep(*lock);
    news.push_back(*std::move(lock));
  }
  return news;
}

std::vector<Value> LockLog::gone(const Object& cluster, Instant now) {
  const std::string key = cluster.key().text();
  unlocked_.erase(key);
  return end(key, now);
}

std::vector<Value> LockLog::end(const std::string& cluster, Instant now) {
  const auto open = open_.find(cluster);
  if (open == open_.end()) {
    return {};
  }
  const Value record = ended(open->second, now);
  keep(record);
  return {record};
}

void LockLog::keep(const Value& record) {
  if (!record.contains("to")) {
    open_.insert_or_assign(cluster_in(record), record);
    return;
  }
  const auto open = open_.find(cluster_in(record));
  if (open != open_.end() && lock_in(open->second) == lock_in(record)) {
    open_.erase(open);
  }
  ended_.push_back(record);
  if (ended_.size() > kMostEndedLocks) {
    stored_.erase(lock_in(ended_.front()));
    ended_.erase(ended_.begin());
  }
}

std::vector<Value> LockLog::load(const std::vector<Value>& records, Instant now) {
  const auto open = std::exchange(open_, {});
  const auto news = std::exchange(ended_, {});
  for (const Value& record : records) {
    stored(record);
    keep(record);
  }
  // Records that were made before the store could be read are newer than those of the store.
  for (const Value& record : news) {
    if (is_news(record)) {
      keep(record);
    }
  }
  std::vector<Value> missed;
  for (const std::string& cluster : unlocked_) {
    std::ranges::move(end(cluster, now), std::back_inserter(missed));
  }
  for (const auto& [cluster, record] : open) {
    const auto known = open_.find(cluster);
    if (known != open_.end() && lock_in(known->second) != lock_in(record)) {
      std::ranges::move(end(cluster, parse_time(record["at"].as_string()).value_or(now)),
                        std::back_inserter(missed));
    }
    keep(record);
  }
  return missed;
}

bool LockLog::is_news(const Value& record) const {
  const auto found = stored_.find(lock_in(record));
  return found == stored_.end() || (record.contains("to") && !found->second);
}

void LockLog::stored(const Value& record) {
  bool& has_ended = stored_[lock_in(record)];
  has_ended = has_ended || record.contains("to");
}

std::vector<Value> LockLog::ended_since(const std::string& from) const {
  std::vector<Value> found;
  std::ranges::copy_if(ended_, std::back_inserter(found),
                       [&](const Value& record) { return record["to"].as_string() >= from; });
  return found;
}

}  // namespace athanor::console
