// SPDX-License-Identifier: Apache-2.0
// RepairLog: turns states of FournosClusters into records of repairs of their quota
// (docs/spec/dashboard.md B4.11). Pure; one thread at a time.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, ns, cluster, fight}; fight: another writer keeps changing the queue.
class RepairLog {
 public:
  // Takes a state of a cluster; returns the repairs that were not known.
  std::vector<Value> see(const Object& cluster);
  // Takes the records of the store, the oldest first.
  void load(const std::vector<Value>& records);
  // Returns true if the store lacks the record.
  [[nodiscard]] bool is_news(const Value& record) const;
  // Notes that the store has the record.
  void stored(const Value& record);
  // Returns the records since `from` (of format_time), the newest first.
  [[nodiscard]] std::vector<Value> since(const std::string& from) const;

 private:
  using Repair = std::pair<std::string, std::string>;  // when, and of which cluster
  void keep(const Value& record);

  std::vector<Value> records_{};  // in order of time; at most kMostKept
  std::set<Repair> known_{};
  std::set<Repair> stored_{};
};

}  // namespace athanor::console
