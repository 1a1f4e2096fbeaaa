// SPDX-License-Identifier: Apache-2.0
// The workloads that hold quota, in the order in which they would be preempted
// (docs/spec/kueue.md 7.8). They are read from the engine's caches only as far as requested, so
// that a decision costs what it looks at, not what is admitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

using CellAmounts = std::vector<std::pair<QuotaTree::CellId, Amount>>;

// One of them.
struct Held {
  Object object{};
  const ClusterQueue* queue = nullptr;
  bool evicted = false;
  std::int64_t priority = 0;
  std::int64_t reserved = 0;  // when, in seconds
  std::string_view uid{};     // of `object`
  CellAmounts usage{};
};

// Those of a ClusterQueue that have the same priority, are evicted or not, and use the same
// resources of the same flavors: the latest reservation first.
class HeldLine {
 public:
  HeldLine(const View& view, const Snapshot& snapshot, const ClusterQueue& queue,
           std::string group);
  // Returns the workload at that place, which stays valid; nullptr behind the last.
  [[nodiscard]] const Held* at(std::size_t index);
  [[nodiscard]] bool evicted() const { return evicted_; }
  [[nodiscard]] std::int64_t priority() const { return priority_; }
  [[nodiscard]] const std::vector<QuotaTree::CellId>& cells() const { return cells_; }

 private:
  [[nodiscard]] std::unique_ptr<Held> read(const Object& workload) const;

  const View& view_;
  const Snapshot& snapshot_;
  const ClusterQueue& queue_;
  std::string group_{};
  bool evicted_ = false;
  std::int64_t priority_ = 0;
  std::vector<QuotaTree::CellId> cells_{};
  std::vector<Object> objects_{};
  std::vector<std::unique_ptr<Held>> read_{};  // of the first of these
  bool whole_ = false;                         // nothing behind `objects_`
};

// All of them, for one run.
class HeldWorkloads {
 public:
  // Requires that `view` and `snapshot` outlive it.
  HeldWorkloads(const View& view, const Snapshot& snapshot) : view_(view), snapshot_(snapshot) {}
  // Returns the lines of a queue that use the cell.
  [[nodiscard]] const std::vector<HeldLine*>& lines(const ClusterQueue& queue,
                                                    QuotaTree::CellId cell);
  // Returns the lines of a queue that use one of the cells.
  [[nodiscard]] std::vector<HeldLine*> lines(const ClusterQueue& queue,
                                             const std::vector<QuotaTree::CellId>& cells);

 private:
  struct OfQueue {
    std::vector<std::unique_ptr<HeldLine>> lines{};
    std::map<QuotaTree::CellId, std::vector<HeldLine*>> by_cell{};
  };
  OfQueue& of(const ClusterQueue& queue);

  const View& view_;
  const Snapshot& snapshot_;
  std::vector<std::unique_ptr<OfQueue>> by_queue_{};  // by node
};

// Who wants quota, and how much.
struct Preemptor {
  const ClusterQueue* queue = nullptr;
  std::int64_t priority = 0;
  std::string queued{};
};

// Returns true if a policy lets the preemptor take the quota of a workload.
bool satisfies(PreemptionPolicy policy, const Preemptor& preemptor, const Held& held);

// Returns true if the policy may let the preemptor take from a workload of the line; reads none.
bool may_satisfy(PreemptionPolicy policy, const Preemptor& preemptor, const HeldLine& line);

// Merges lines: either those that are evicted already or the others. Opens lines of the next
// priority only when those before have no candidate left, so that few objects are read.
class CandidateMerge {
 public:
  struct Source {
    HeldLine* line = nullptr;
    PreemptionPolicy policy = PreemptionPolicy::Never;
    std::size_t tag = 0;  // for the caller
  };
  CandidateMerge(const Preemptor& preemptor, const std::vector<Source>& sources, bool evicted);
  struct Candidate {
    const Held* held = nullptr;
    std::size_t tag = 0;
  };
  // Returns the next candidate; its held is nullptr at the end.
  [[nodiscard]] Candidate next();

 private:
  struct Cursor {
    Source source{};
    std::size_t index = 0;
  };
  struct Head {
    std::size_t cursor = 0;
    const Held* held = nullptr;
  };
  static bool is_later(const Head& one, const Head& other);
  // Adds the next candidate of a cursor to the heads, if it has one.
  void advance(std::size_t cursor);
  // Opens lines of the next priority until there is a head.
  void open();

  const Preemptor* preemptor_;
  std::vector<Cursor> cursors_{};
  std::optional<std::int64_t> opened_{};  // the highest priority whose lines are open
  std::vector<Head> heads_{};             // a heap: the first in turn is in front
};

// Returns true if the policy lets the preemptor take from a workload of the line; reads only lines
// of equal priority.
bool has_candidate(const Preemptor& preemptor, const CandidateMerge::Source& source);

}  // namespace athanor::kueue
