// SPDX-License-Identifier: Apache-2.0
// LockLog: turns states of FournosClusters into records of their locks, which outlive them
// (docs/spec/dashboard.md B4.2, the timeline). Pure; one thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, ns, cluster, holder, from}, and {to} once the lock has ended.
class LockLog {
 public:
  // Takes a state of a cluster; returns records of a lock that ended and of one that began.
  std::vector<Value> see(const Object& cluster, Instant now);
  // Takes the deletion of a cluster; returns the record of its lock's end.
  std::vector<Value> gone(const Object& cluster, Instant now);
  // Takes the records of the store, the oldest first; returns records of those locks that ended
  // while nobody looked: the cluster was seen unlocked since, or with another lock.
  std::vector<Value> load(const std::vector<Value>& records, Instant now);
  // Returns true if the store lacks the record.
  [[nodiscard]] bool is_news(const Value& record) const;
  // Notes that the store has the record.
  void stored(const Value& record);
  // Returns the locks that ended after `from` (of format_time), the oldest first.
  [[nodiscard]] std::vector<Value> ended_since(const std::string& from) const;

 private:
  // Keeps a record: the open lock of its cluster, or one that ended.
  void keep(const Value& record);
  // Ends the open lock of "ns/cluster"; returns its record.
  std::vector<Value> end(const std::string& cluster, Instant now);

  std::map<std::string, Value, std::less<>> open_{};   // by "ns/cluster"
  std::set<std::string, std::less<>> unlocked_{};      // clusters seen without a lock
  std::vector<Value> ended_{};                         // at most kMostEndedLocks
  std::map<std::string, bool, std::less<>> stored_{};  // by lock: it has ended
};

}  // namespace athanor::console
