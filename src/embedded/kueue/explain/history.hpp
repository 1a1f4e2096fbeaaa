// SPDX-License-Identifier: Apache-2.0
// RunHistory: how long earlier runs of a queue took, from Workloads and, for owners that delete
// their Workload at the end, from the owners (docs/spec/kueue.md 17). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue {

// Fast: half of the runs are longer. Slow: one in ten is, or the declared maximum.
enum class Pace : std::uint8_t { Fast, Slow };

// Lengths of runs by LocalQueue. Add first, then finish(), then ask. Not thread-safe.
class RunHistory {
 public:
  // Adds a finished Workload.
  void add(const Object& workload);
  // Adds a FournosJob: the length of a run that ended, or a lock, which has none.
  void add_job(const Object& job, const std::set<std::string>& queues);
  void finish();
  // Returns the number of runs with a known length.
  [[nodiscard]] std::size_t count() const { return count_; }

  // Returns how much longer a run takes that began at `began`; nullopt: unknown. The end of one
  // that has taken longer than all before it, and declares no maximum, is unknown when Slow.
  [[nodiscard]] std::optional<Duration> left(const Object& workload, Instant began, Instant now,
                                             Pace pace) const;

 private:
  void add_run(const Key& queue, Duration length);

  std::map<Key, std::vector<Duration>> by_queue_{};
  std::map<Key, std::optional<Instant>> locks_{};  // by job: spec.lockUntil
  std::size_t count_ = 0;
};

}  // namespace athanor::kueue
