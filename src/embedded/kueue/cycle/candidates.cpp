// SPDX-License-Identifier: Apache-2.0
// Reading and merging candidates.
#include "embedded/kueue/cycle/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr char kNext = '\t';  // behind each part of a group's name, and in none of them
// The most that are read at a time; mostly few are needed.
constexpr std::size_t kChunk = 16;

std::int64_t priority_of(const Object& workload) {
  return workload.spec()["priority"].as_int();
}

// The group: whether it is evicted, its priority, the resources of flavors that it was given.
std::string group_of(const Object& workload) {
  std::set<std::string> names;
  for (const Value& assignment : workload.status()["admission"]["podSetAssignments"].items()) {
    for (const Member& flavor : assignment["flavors"].members()) {
      names.insert(sum_name(flavor.value.as_string(), flavor.key()));
    }
  }
  std::string group =
      fmt::format("{}{}{}", is_evicted(workload) ? 'e' : 'h', priority_of(workload), kNext);
  for (const std::string& name : names) {
    group += name;
    group += kNext;
  }
  return group;
}

// When it was reserved, in seconds; 0 without a time.
std::int64_t reserved_at(const Object& workload) {
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  const auto at = parse_time(reserved["lastTransitionTime"].as_string());
  return at ? std::chrono::duration_cast<std::chrono::seconds>(at->time_since_epoch()).count() : 0;
}

// The latest reservation first, then uid.
std::string place_of(const Object& workload) {
  return fmt::format("{:016x}{}", ~static_cast<std::uint64_t>(reserved_at(workload)),
                     workload.uid());
}

constexpr Ranking kTurns{.group = group_of, .place = place_of};

}  // namespace

HeldLine::HeldLine(const View& view, const Snapshot& snapshot, const ClusterQueue& queue,
                   std::string group)
    : view_(view), snapshot_(snapshot), queue_(queue), group_(std::move(group)) {
  std::size_t begin = group_.find(kNext) + 1;
  if (begin == 0) {
    return;  // of one that cannot be ranked
  }
  evicted_ = group_.front() == 'e';
  std::from_chars(group_.data() + 1, group_.data() + begin - 1, priority_);
  while (begin < group_.size()) {
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
  held->evicted = evicted_;
  held->priority = priority_;
  held->reserved = reserved_at(workload);
  held->uid = held->object.uid();
  for (const auto& [cell, amount] : held_quota(workload)) {
    if (const auto known = snapshot_.quota.find(cell.flavor, cell.resource)) {
      held->usage.emplace_back(*known, amount);
    }
  }
  return held;
}

const Held* HeldLine::at(std::size_t index) {
  while (index >= objects_.size() && !whole_) {
    const std::size_t wanted = std::min(3 * objects_.size() + 1, kChunk);
    const std::vector<Object> more =
        view_.ranked(api::kueue::kWorkload, reserved_in(queue_.name), kTurns, group_,
                     objects_.empty() ? nullptr : &objects_.back(), wanted);
    objects_.insert(objects_.end(), more.begin(), more.end());
    whole_ = more.size() < wanted;
  }
  while (index >= read_.size() && read_.size() < objects_.size()) {
    read_.push_back(read(objects_[read_.size()]));
  }
  return index < read_.size() ? read_[index].get() : nullptr;
}

HeldWorkloads::OfQueue& HeldWorkloads::of(const ClusterQueue& queue) {
  by_queue_.resize(snapshot_.nodes.size());
  std::unique_ptr<OfQueue>& known = by_queue_[queue.node];
  if (known == nullptr) {
    known = std::make_unique<OfQueue>();
    OfQueue& result = *known;
    for (const Group& group :
         view_.groups(api::kueue::kWorkload, reserved_in(queue.name), kTurns)) {
      result.lines.push_back(std::make_unique<HeldLine>(view_, snapshot_, queue, group.name));
      for (const QuotaTree::CellId cell : result.lines.back()->cells()) {
        result.by_cell[cell].push_back(result.lines.back().get());
      }
    }
  }
  return *known;
}

const std::vector<HeldLine*>& HeldWorkloads::lines(const ClusterQueue& queue,
                                                   QuotaTree::CellId cell) {
  static const std::vector<HeldLine*> kNone;
  const OfQueue& known = of(queue);
  const auto at = known.by_cell.find(cell);
  return at == known.by_cell.end() ? kNone : at->second;
}

std::vector<HeldLine*> HeldWorkloads::lines(const ClusterQueue& queue,
                                            const std::vector<QuotaTree::CellId>& cells) {
  if (cells.size() == 1) {
    return lines(queue, cells.front());
  }
  std::vector<HeldLine*> result;
  for (const QuotaTree::CellId cell : cells) {
    for (HeldLine* line : lines(queue, cell)) {
      if (std::ranges::find(result, line) == result.end()) {
        result.push_back(line);
      }
    }
  }
  return result;
}

bool may_satisfy(PreemptionPolicy policy, const Preemptor& preemptor, const HeldLine& line) {
  switch (policy) {
    case PreemptionPolicy::Never:
      return false;
    case PreemptionPolicy::LowerPriority:
      return line.priority() < preemptor.priority;
    case PreemptionPolicy::LowerOrNewerEqualPriority:
      return line.priority() <= preemptor.priority;
    case PreemptionPolicy::Any:
      return true;
  }
  return false;
}

bool satisfies(PreemptionPolicy policy, const Preemptor& preemptor, const Held& held) {
  switch (policy) {
    case PreemptionPolicy::Never:
      return false;
    case PreemptionPolicy::LowerPriority:
      return held.priority < preemptor.priority;
    case PreemptionPolicy::LowerOrNewerEqualPriority:
      return held.priority < preemptor.priority ||
             (held.priority == preemptor.priority &&
              std::get<1>(queue_order(held.object)) > preemptor.queued);
    case PreemptionPolicy::Any:
      return true;
  }
  return false;
}

CandidateMerge::CandidateMerge(const Preemptor& preemptor, const std::vector<Source>& sources,
                               bool evicted)
    : preemptor_(&preemptor) {
  for (const Source& source : sources) {
    if (source.line->evicted() == evicted && may_satisfy(source.policy, preemptor, *source.line)) {
      cursors_.push_back({.source = source});
    }
  }
}

bool CandidateMerge::is_later(const Head& one, const Head& other) {
  return std::tie(other.held->reserved, one.held->uid) >
         std::tie(one.held->reserved, other.held->uid);
}

void CandidateMerge::advance(std::size_t cursor) {
  Cursor& at = cursors_[cursor];
  while (const Held* held = at.source.line->at(at.index)) {
    ++at.index;
    if (satisfies(at.source.policy, *preemptor_, *held)) {
      heads_.push_back({.cursor = cursor, .held = held});
      std::ranges::push_heap(heads_, is_later);
      return;
    }
  }
}

void CandidateMerge::open() {
  while (heads_.empty()) {
    std::optional<std::int64_t> next;
    for (const Cursor& at : cursors_) {
      const std::int64_t priority = at.source.line->priority();
      if ((!opened_ || priority > *opened_) && (!next || priority < *next)) {
        next = priority;
      }
    }
    if (!next) {
      return;
    }
    opened_ = next;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      if (cursors_[i].source.line->priority() == *next) {
        advance(i);
      }
    }
  }
}

CandidateMerge::Candidate CandidateMerge::next() {
  open();
  if (heads_.empty()) {
    return {};
  }
  std::ranges::pop_heap(heads_, is_later);
  const Head first = heads_.back();
  heads_.pop_back();
  advance(first.cursor);
  return {.held = first.held, .tag = cursors_[first.cursor].source.tag};
}

bool has_candidate(const Preemptor& preemptor, const CandidateMerge::Source& source) {
  HeldLine& line = *source.line;
  if (!may_satisfy(source.policy, preemptor, line)) {
    return false;
  }
  if (source.policy != PreemptionPolicy::LowerOrNewerEqualPriority ||
      line.priority() < preemptor.priority) {
    return true;
  }
  for (std::size_t i = 0; const Held* held = line.at(i); ++i) {
    if (satisfies(source.policy, preemptor, *held)) {
      return true;
    }
  }
  return false;
}

}  // namespace athanor::kueue
