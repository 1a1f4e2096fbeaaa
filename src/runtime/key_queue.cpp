// SPDX-License-Identifier: Apache-2.0
// Ready and sleeping tasks.
#include "runtime/key_queue.hpp"

#include <iterator>

namespace athanor::runtime {

void KeyQueue::add(TaskId id, Priority priority, Instant now) {
  cancel(id);
  const auto known = places_.find(id);
  if (known != places_.end()) {
    Place& place = known->second;
    if (place.priority <= priority) {
      return;
    }
    order_.erase({place.priority, place.sequence, id});
    place.priority = priority;
    place.sequence = ++sequence_;
    order_.emplace(priority, place.sequence, id);
    return;
  }
  const Place place{.priority = priority, .sequence = ++sequence_, .since = now};
  places_.emplace(id, place);
  order_.emplace(priority, place.sequence, id);
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

void KeyQueue::wake(Instant now) {
  while (!sleepers_.empty() && sleepers_.begin()->first <= now) {
    add(sleepers_.begin()->second, Priority::Interactive, now);
  }
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
  order_.erase(at);
  places_.erase(id);
  return taken;
}

std::optional<Instant> KeyQueue::next_wake() const {
  if (sleepers_.empty()) {
    return std::nullopt;
  }
  return sleepers_.begin()->first;
}

}  // namespace athanor::runtime
