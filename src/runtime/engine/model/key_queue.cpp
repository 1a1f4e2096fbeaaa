// SPDX-License-Identifier: Apache-2.0
// Ready and sleeping tasks.
#include "runtime/engine/model/key_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace athanor::runtime {

namespace {

constexpr std::size_t kMany = 10'000;

}  // namespace

bool KeyQueue::add(TaskId id, Priority priority, Instant now) {
  cancel(id);
  const auto [known, fresh] = places_.try_emplace(id);
  Place& place = known->second;
  if (!fresh) {
    if (place.priority <= priority) {
      return false;
    }
    order_.erase({place.priority, place.sequence, id});
    place.priority = priority;
    place.sequence = ++sequence_;
    order_.emplace(priority, place.sequence, id);
    return false;
  }
  place = {.priority = priority, .sequence = ++sequence_, .since = now};
  order_.emplace_hint(order_.end(), priority, place.sequence, id);
  return true;
}

void KeyQueue::sleep(TaskId id, Instant when) {
  const auto [known, fresh] = wakes_.emplace(id, when);
  if (!fresh) {
    if (known->second <= when) {
      return;
    }
    sleepers_.erase({known->second, id});
    known->second = when;
  }
  sleepers_.emplace(when, id);
}

void KeyQueue::cancel(TaskId id) {
  const auto known = wakes_.find(id);
  if (known != wakes_.end()) {
    sleepers_.erase({known->second, id});
    wakes_.erase(known);
  }
}

std::vector<TaskId> KeyQueue::wake(Instant now) {
  return wake_until(now, now);
}

std::vector<TaskId> KeyQueue::wake_all(Instant now) {
  return wake_until(Instant::max(), now);
}

std::vector<TaskId> KeyQueue::wake_until(Instant end, Instant now) {
  std::vector<TaskId> woken;
  while (!sleepers_.empty() && sleepers_.begin()->first <= end) {
    const TaskId id = sleepers_.begin()->second;
    if (add(id, Priority::Interactive, now)) {
      woken.push_back(id);
    }
  }
  return woken;
}

std::optional<Instant> KeyQueue::ready_since(TaskId id) const {
  const auto at = places_.find(id);
  return at == places_.end() ? std::nullopt : std::optional(at->second.since);
}

std::optional<Instant> KeyQueue::wake_of(TaskId id) const {
  const auto at = wakes_.find(id);
  return at == wakes_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<KeyQueue::Taken> KeyQueue::take(Entropy* shuffle) {
  if (order_.empty()) {
    return std::nullopt;
  }
  auto at = order_.begin();
  if (shuffle != nullptr) {
    std::advance(at, static_cast<std::ptrdiff_t>(shuffle->next() % order_.size()));
  }
  const TaskId id = std::get<2>(*at);
  const Taken taken{.id = id, .since = places_.at(id).since};
  most_ready_ = std::max(most_ready_, order_.size());
  order_.erase(at);
  places_.erase(id);
  if (order_.empty() && std::exchange(most_ready_, 0) > kMany) {
    memory_.release();
  }
  return taken;
}

std::optional<Instant> KeyQueue::next_wake() const {
  if (sleepers_.empty()) {
    return std::nullopt;
  }
  return sleepers_.begin()->first;
}

}  // namespace athanor::runtime
