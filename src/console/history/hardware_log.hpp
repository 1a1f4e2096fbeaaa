// SPDX-License-Identifier: Apache-2.0
// HardwareLog: turns states of FournosClusters into records of the GPUs that were found
// (docs/spec/dashboard.md B4.5, hardware history). Pure; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, cluster, gpus: {type: count}}; one whenever the GPUs of a cluster are other ones.
class HardwareLog {
 public:
  // Takes a state of a cluster; returns a record if its GPUs changed. nullopt also while nothing
  // has been discovered.
  std::optional<Value> see(const Object& cluster, Instant now);
  // Takes the records of the store, the oldest first.
  void load(const std::vector<Value>& records);
  // Returns true if the store lacks the record: its newest one of the cluster has other GPUs.
  [[nodiscard]] bool is_news(const Value& record) const;
  // Notes that the store has the record.
  void stored(const Value& record);
  // Returns [{at, gpus, byType}] from the state at `from` to that of now; empty: nothing is known.
  [[nodiscard]] Value course(std::string_view cluster, Instant from, Instant now) const;

 private:
  std::map<std::string, std::vector<Value>, std::less<>> seen_{};  // by cluster, the oldest first
  std::map<std::string, Value, std::less<>> stored_{};             // by cluster: the newest
};

}  // namespace athanor::console
