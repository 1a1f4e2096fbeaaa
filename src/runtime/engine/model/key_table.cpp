// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/model/key_table.hpp"

#include <algorithm>

#include "base/memory.hpp"

namespace athanor::runtime {

namespace {

// So many keys that were known and are gone leave enough memory to give it back to the system.
constexpr std::size_t kManyTasks = 10'000;

}  // namespace

Task& KeyTable::of(Controller& controller, const Key& key) {
  const auto known = by_name_.find(Name{controller.number, key});
  if (known != by_name_.end()) {
    return **known;
  }
  ++last_;
  Task& task =
      tasks_.emplace(last_, Task{.id = last_, .controller = &controller, .key = key}).first->second;
  by_name_.insert(&task);
  most_ = std::max(most_, tasks_.size());
  return task;
}

Task* KeyTable::find(TaskId id) {
  const auto at = tasks_.find(id);
  return at == tasks_.end() ? nullptr : &at->second;
}

std::vector<TaskId> KeyTable::ids() const {
  std::vector<TaskId> ids;
  ids.reserve(tasks_.size());
  for (const auto& [id, task] : tasks_) {
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

void KeyTable::erase(Task& task) {
  const TaskId id = task.id;
  queue_.cancel(id);
  by_name_.erase(&task);
  tasks_.erase(id);
}

void KeyTable::queue(Task& task, Priority priority, Instant now, Cause cause) {
  if (task.phase == Task::Phase::Idle) {
    make_ready(task, priority, now, cause);
    return;
  }
  if (!task.dirty) {
    task.dirty_cause = cause;
  }
  task.dirty = true;
  task.dirty_priority = std::min(task.dirty_priority, priority);
}

void KeyTable::make_ready(Task& task, Priority priority, Instant now, Cause cause) {
  const Instant rested = task.started + task.controller->op->pause;
  const bool clock_went_back = task.started > now;
  if (rested > now && !clock_went_back) {
    task.again_cause = cause;
    queue_.sleep(task.id, rested);
    return;
  }
  if (queue_.add(task.id, priority, now)) {
    task.cause = cause;
    metrics_.queued(task.controller->number);
  }
}

void KeyTable::woken(const std::vector<TaskId>& ids) {
  for (const TaskId id : ids) {
    if (Task* task = find(id)) {
      task->cause = task->again_cause;
      metrics_.queued(task->controller->number);
    }
  }
}

void KeyTable::give_back_memory() {
  // At the start every key is known and ready at once.
  if (queue_.ready() == 0 && most_ - tasks_.size() > kManyTasks) {
    most_ = tasks_.size();
    memory::give_back();
  }
}

}  // namespace athanor::runtime
