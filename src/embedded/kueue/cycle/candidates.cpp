// SPDX-License-Identifier: Apache-2.0
// Reading and merging candidates.
#include "embedded/kueue/cycle/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr char kNext = '\t';  // between the names of sums, and in none of them
// Read at a time behind the first.
constexpr std::size_t kChunk = 16;

// The resources of flavors that a workload was given, by name.
std::string used_by(const Object& workload) {
  std::set<std::string> names;
  for (const Value& assignment : workload.status()["admission"]["podSetAssignments"].items()) {
    for (const Member& flavor : assignment["flavors"].members()) {
      names.insert(sum_name(flavor.value.as_string(), flavor.key()));
    }
  }
  std::string group;
  for (const std::string& name : names) {
    group += name;
    group += kNext;
  }
  return group;
}

std::int64_t priority_of(const Object& workload) {
  return workload.spec()["priority"].as_int();
}

// Lower priority first, then the latest reservation, then uid.
std::string turn_of(const Object& workload) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  const auto at = parse_time(reserved["lastTransitionTime"].as_string());
  const std::int64_t seconds =
      at ? std::chrono::duration_cast<std::chrono::seconds>(at->time_since_epoch()).count() : 0;
  return fmt::format("{:016x}{:016x}{}", static_cast<std::uint64_t>(priority_of(workload)) ^ kSign,
                     ~static_cast<std::uint64_t>(seconds), workload.uid());
}

std::string place_of(const Object& workload) {
  return (is_evicted(workload) ? "0" : "1") + turn_of(workload);
}

constexpr Ranking kTurns{.group = used_by, .place = place_of};

}  // namespace

HeldLine::HeldLine(const View& view, const Snapshot& snapshot, const ClusterQueue& queue,
                   std::string group)
    : view_(view), snapshot_(snapshot), queue_(queue), group_(std::move(group)) {
  for (std::size_t begin = 0; begin < group_.size();) {
    const std::size_t end = group_.find(kNext, begin);
    const std::string_view name = std::string_view(group_).substr(begin, end - begin);
    const std::size_t separator = name.find(kSumSeparator);
    if (const auto cell =
            snapshot.quota.find(name.substr(0, separator), name.substr(separator + 1))) {
      cells_.push_back(*cell);
    }
    begin = end + 1;
  }
}

std::unique_ptr<Held> HeldLine::read(const Object& workload) const {
  auto held = std::make_unique<Held>();
  held->object = workload;
  held->queue = &queue_;
  held->evicted = is_evicted(workload);
  held->priority = priority_of(workload);
  held->queued = std::get<1>(queue_order(workload));
  held->turn = turn_of(workload);
  for (const auto& [cell, amount] : held_quota(workload)) {
    if (const auto known = snapshot_.quota.find(cell.flavor, cell.resource)) {
      held->usage.emplace_back(*known, amount);
    }
  }
  return held;
}

const Held* HeldLine::at(std::size_t index) {
  while (index >= read_.size() && !whole_) {
    const std::size_t wanted = read_.empty() ? 1 : kChunk;
    const std::vector<Object> more =
        view_.ranked(api::kueue::kWorkload, reserved_in(queue_.name), kTurns, group_,
                     read_.empty() ? nullptr : &read_.back()->object, wanted);
    for (const Object& workload : more) {
      read_.push_back(read(workload));
    }
    whole_ = more.size() < wanted;
  }
  return index < read_.size() ? read_[index].get() : nullptr;
}

bool HeldLine::uses(const std::vector<QuotaTree::CellId>& cells) const {
  return std::ranges::any_of(cells_, [&](QuotaTree::CellId cell) {
    return std::ranges::find(cells, cell) != cells.end();
  });
}

std::vector<HeldLine*> HeldWorkloads::lines(const ClusterQueue& queue,
                                            const std::vector<QuotaTree::CellId>& cells) {
  const auto [at, fresh] = by_queue_.try_emplace(queue.name);
  if (fresh) {
    for (const Group& group :
         view_.groups(api::kueue::kWorkload, reserved_in(queue.name), kTurns)) {
      at->second.push_back(std::make_unique<HeldLine>(view_, snapshot_, queue, group.name));
    }
  }
  std::vector<HeldLine*> result;
  for (const auto& line : at->second) {
    if (line->uses(cells)) {
      result.push_back(line.get());
    }
  }
  return result;
}

bool satisfies(PreemptionPolicy policy, const Preemptor& preemptor, const Held& held) {
  switch (policy) {
    case PreemptionPolicy::Never:
      return false;
    case PreemptionPolicy::LowerPriority:
      return held.priority < preemptor.priority;
    case PreemptionPolicy::LowerOrNewerEqualPriority:
      return held.priority < preemptor.priority ||
             (held.priority == preemptor.priority && held.queued > preemptor.queued);
    case PreemptionPolicy::Any:
      return true;
  }
  return false;
}

CandidateMerge::CandidateMerge(const Preemptor& preemptor, const std::vector<Source>& sources,
                               bool evicted)
    : preemptor_(preemptor), evicted_(evicted) {
  for (const Source& source : sources) {
    if (source.policy != PreemptionPolicy::Never) {
      cursors_.push_back({.source = source});
    }
  }
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    advance(i);
  }
}

void CandidateMerge::advance(std::size_t cursor) {
  Cursor& at = cursors_[cursor];
  while (const Held* held = at.source.line->at(at.index)) {
    if (evicted_ && !held->evicted) {
      return;  // the evicted ones stand first
    }
    // Priorities only rise within a section: behind this one nobody will do.
    if (held->evicted == evicted_ && at.source.policy != PreemptionPolicy::Any &&
        held->priority > preemptor_.priority) {
      return;
    }
    ++at.index;
    if (held->evicted == evicted_ && satisfies(at.source.policy, preemptor_, *held)) {
      heads_.emplace(held->turn, std::pair(cursor, held));
      return;
    }
  }
}

CandidateMerge::Candidate CandidateMerge::next() {
  if (heads_.empty()) {
    return {};
  }
  const auto [cursor, held] = heads_.begin()->second;
  heads_.erase(heads_.begin());
  advance(cursor);
  return {.held = held, .tag = cursors_[cursor].source.tag};
}

}  // namespace athanor::kueue
