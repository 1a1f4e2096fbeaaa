// SPDX-License-Identifier: Apache-2.0
// A slow admission engine for comparison, written from the tables of docs/spec/kueue.md 7: no
// indexes, no sums kept, no snapshot, everything counted anew from the list of who holds what. One
// pod set, whole numbers, two resources of which each flavor has a cell: gpu, named as the flavor,
// and slot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace athanor::kueue::model {

struct Quota {
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing{};
  std::optional<std::int64_t> lending{};
};

// A cohort, or a ClusterQueue.
struct Node {
  std::string parent{};
  std::map<std::string, Quota> quotas{};  // by cell
  bool queue = false;
  // Of a ClusterQueue:
  std::vector<std::string> flavors{};  // in order of preference
  bool strict = false;
  std::string within = "Never";
  std::string reclaim = "Never";
  bool borrow_within_cohort = false;
  std::optional<std::int64_t> threshold{};
  bool next_when_borrowing = false;
  bool next_when_preempting = true;
  bool prefers_preemption = false;
  double weight = 1;  // of a cohort, too
};

// After so many preemptions who borrows takes nothing from a job any more.
inline constexpr std::int64_t kMostPreemptions = 10;

struct Job {
  std::string queue{};
  std::int64_t need = 1;
  std::int64_t priority = 0;
  std::int64_t created = 0;
  bool came_back = false;     // after an eviction
  std::string flavor{};       // held; empty: it waits
  std::int64_t reserved = 0;  // when
  bool evicted = false;       // and holds it still
  bool sticky = false;        // waits for preemptions of its own
  std::int64_t times_preempted = 0;
  std::int64_t slots = 0;
};
// Returns the cell of a flavor's slots.
inline std::string slots_of(const std::string& flavor) {
  return flavor + ".slot";
}
using Asks = std::vector<std::pair<std::string, std::int64_t>>;  // by cell
// Returns what the job takes of the flavor.
inline Asks asks_of(const Job& job, const std::string& flavor) {
  Asks asks;
  if (job.need > 0) {
    asks.emplace_back(flavor, job.need);
  }
  if (job.slots > 0) {
    asks.emplace_back(slots_of(flavor), job.slots);
  }
  return asks;
}

// Names are uids, too.
struct World {
  bool fair = false;  // queues share by weight
  std::map<std::string, Node> nodes{};
  std::map<std::string, Job> jobs{};
};

struct Decision {
  std::map<std::string, std::string> admitted{};   // job: flavor
  std::map<std::string, std::string> preempted{};  // job: reason
  std::set<std::string> preempting{};   // jobs whose message says that preemptions are pending
  std::set<std::string> overlapping{};  // jobs whose message says so
  std::set<std::string> crowded_out{};  // no longer fit
  friend bool operator==(const Decision&, const Decision&) = default;
};
Decision decide(const World& world);

// What a node uses of a cell, and what of that is too much; for the rules that always hold.
std::int64_t use_of(const World& world, const std::string& node, const std::string& cell);
bool is_overdrawn(const World& world, const std::string& node, const std::string& cell);

}  // namespace athanor::kueue::model
