// SPDX-License-Identifier: Apache-2.0
#include "console/history/eviction_log.hpp"

#include <algorithm>
#include <utility>

#include "base/saturate.hpp"
#include "kube/value/condition.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostEvictions = 100'000;  // in memory; as many as the store keeps

std::int64_t total_of(const Object& workload) {
  std::int64_t total = 0;
  for (const Value& one : workload.status()["schedulingStats"]["evictions"].items()) {
    total = saturating_add(total, one["count"].as_int());
  }
  return total;
}

}  // namespace

std::optional<Value> EvictionLog::see(const Object& workload, Instant now) {
  const std::int64_t total = total_of(workload);
  if (total <= 0) {
    return std::nullopt;
  }
  std::int64_t& seen = seen_[std::string(workload.uid())];
  if (total <= seen) {
    return std::nullopt;
  }
  const std::int64_t count = total - std::exchange(seen, total);
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  const auto at = parse_time(evicted["lastTransitionTime"].as_string());
  Value record = Value::object({{"at", format_time(at.value_or(now))},
                                {"ns", workload.ns()},
                                {"queue", workload.spec()["queueName"]},
                                {"uid", workload.uid()},
                                {"total", total},
                                {"count", count}});
  records_.push_back(record);
  if (records_.size() > kMostEvictions) {
    const std::string oldest = records_.front()["uid"].str();
    if (seen_[oldest] == records_.front()["total"].as_int()) {  // its newest record, too
      seen_.erase(oldest);
      stored_.erase(oldest);
    }
    records_.erase(records_.begin());
  }
  return record;
}

void EvictionLog::load(const std::vector<Value>& records) {
  const std::vector<Value> made = std::exchange(records_, {});
  const auto add = [&](Value record) {
    // One that was made before the store could be read counts from 0.
    if (const auto known = stored_.find(record["uid"].as_string()); known != stored_.end()) {
      record.set("count",
                 std::min(record["count"].as_int(), record["total"].as_int() - known->second));
    }
    records_.push_back(std::move(record));
  };
  for (const Value& record : records) {
    add(record);
    stored(record);
  }
  for (const Value& record : made) {
    if (is_news(record)) {
      add(record);
    }
  }
}

bool EvictionLog::is_news(const Value& record) const {
  const auto found = stored_.find(record["uid"].as_string());
  return found == stored_.end() || record["total"].as_int() > found->second;
}

void EvictionLog::stored(const Value& record) {
  const std::string uid = record["uid"].str();
  stored_[uid] = std::max(stored_[uid], record["total"].as_int());
  seen_[uid] = std::max(seen_[uid], record["total"].as_int());
}

std::vector<Value> EvictionLog::since(const std::string& from) const {
  std::vector<Value> found;
  for (const Value& record : records_) {
    if (record["at"].as_string() >= from) {
      found.push_back(Value::object({{"at", record["at"]},
                                     {"ns", record["ns"]},
                                     {"queue", record["queue"]},
                                     {"count", record["count"]}}));
    }
  }
  return found;
}

}  // namespace athanor::console
