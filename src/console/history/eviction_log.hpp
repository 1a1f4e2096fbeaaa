// SPDX-License-Identifier: Apache-2.0
// EvictionLog: turns states of Workloads into records of their evictions, which outlive them
// (docs/spec/dashboard.md B4.11). Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, ns, queue, uid, total, count}; total: evictions of the Workload until then, count:
// those since the record before.
class EvictionLog {
 public:
  // Takes a state of a Workload; returns a record if it was evicted again.
  std::optional<Value> see(const Object& workload, Instant now);
  // Takes the records of the store, the oldest first.
  void load(const std::vector<Value>& records);
  // Returns true if the store lacks the record.
  [[nodiscard]] bool is_news(const Value& record) const;
  // Notes that the store has the record.
  void stored(const Value& record);
  // Returns {at, ns, queue, count} of the evictions since then (of format_time), the oldest first.
  [[nodiscard]] std::vector<Value> since(const std::string& from) const;

 private:
  std::vector<Value> records_{};                               // at most kMostEvictions
  std::map<std::string, std::int64_t, std::less<>> seen_{};    // totals by uid
  std::map<std::string, std::int64_t, std::less<>> stored_{};  // totals by uid
};

}  // namespace athanor::console
