// SPDX-License-Identifier: Apache-2.0
// What holds of queues in every world (docs/spec/kueue.md 7.6, 7.8), counted anew from the objects
// that are stored: nothing of the engine's own arithmetic is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulation/world.hpp"

namespace athanor::sim {

// ClusterQueues and cohorts with quota of one flavor and resource, as a tree.
class QuotaCount {
 public:
  QuotaCount(const World& world, std::string flavor, std::string resource);
  // What all that is below a cohort, or a ClusterQueue, holds above what it keeps to itself.
  [[nodiscard]] std::int64_t usage(const std::string& node) const;
  // The most that a ClusterQueue could ever be given; nothing of a flavor that it does not list.
  [[nodiscard]] std::int64_t capacity(const std::string& node) const;
  // Why the quota of some node is exceeded.
  [[nodiscard]] std::optional<std::string> exceeded() const;

 private:
  struct Node {
    std::string parent{};
    std::int64_t nominal = 0;
    std::optional<std::int64_t> borrowing{};
    std::optional<std::int64_t> lending{};
    std::int64_t held = 0;  // of a ClusterQueue
    bool listed = false;    // has a quota of this flavor and resource, if only 0
  };
  void read(const Object& object, const std::string& name, std::string_view parent_key);
  [[nodiscard]] std::vector<std::string> children(const std::string& node) const;
  [[nodiscard]] std::int64_t subtree(const std::string& node) const;
  [[nodiscard]] std::int64_t local(const std::string& node) const;

  std::string flavor_;
  std::string resource_;
  std::map<std::string, Node> nodes_{};  // "cq/NAME", "co/NAME"
};

// No tree of cohorts gives more than it has.
Invariant tree_quota_holds();
// A workload that holds quota is not given other quota before it gave that back.
Invariant admitted_once();
// What is preempted goes on in the end; the same workload is preempted at most `limit` times.
Invariant preemption_rests(std::int64_t limit);
// At rest every workload of this prefix that finished did so within `limit` of its creation: who
// fits is not passed over for ever.
Invariant finished_in_time(std::string prefix, Duration limit);
// At rest who waits does not fit, and was told so; the counts of ClusterQueues are those of the
// workloads that are stored.
Invariant who_waits_does_not_fit();
Invariant counts_are_those_of_workloads();

}  // namespace athanor::sim
