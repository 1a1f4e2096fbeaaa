// SPDX-License-Identifier: Apache-2.0
// Keys that wait for the caches: for their own writes, and for the first sight of all that they
// read (Operator::sees_all).
#include <algorithm>
#include <map>
#include <utility>

#include "base/log.hpp"
#include "runtime/engine/engine_impl.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

std::string text_of(const Watched& watch) {
  std::string text(watch.kind->plural);
  return watch.ns.empty() ? text : text + " in " + watch.ns;
}

}  // namespace

void Engine::Impl::ask_for_sight(Controller& controller) {
  const auto ask = [&](const Kind& kind) {
    for (const std::string& ns : core.world.cache(kind).watches()) {
      if (core.observations.contains(unreadable_query(kind, ns))) {
        continue;  // refused for good: there is no list to wait for
      }
      if (controller.unseen.insert({&kind, ns}).second) {
        core.out.emplace_back(Relist{.kind = &kind, .ns = ns});
      }
    }
  };
  for (const Kind* kind : controller.op->reads) {
    ask(*kind);
  }
  if (controller.op->primary != nullptr) {
    ask(*controller.op->primary);
  }
}

bool Engine::Impl::waits_for_sight(Task& task, Instant now) {
  Controller& controller = *task.controller;
  if (!std::exchange(controller.has_asked, true)) {
    ask_for_sight(controller);
  }
  if (controller.unseen.empty()) {
    return false;
  }
  for (const Watched& watch : controller.unseen) {
    core.barrier.wait_relist(task.id, watch);
  }
  task.dirty = true;  // to run once all is there
  task.dirty_cause = task.cause;
  core.metrics.put_off(controller.number);
  plans.release(task, now);
  return true;
}

void Engine::Impl::expire(Instant now) {
  struct Late {
    std::size_t keys = 0;
    std::string key{};  // one of them
    std::string waits_for{};
  };
  std::map<std::pair<std::size_t, Task::Overdue>, Late> late;
  while (!core.deadlines.empty() && core.deadlines.begin()->first <= now) {
    const TaskId id = core.deadlines.begin()->second;
    core.deadlines.erase(core.deadlines.begin());
    Task* task = core.keys.find(id);
    if (task == nullptr || task->phase != Task::Phase::Waiting) {
      continue;
    }
    if (core.note_overdue(*task)) {
      Late& one = late[{task->controller->number, task->overdue}];
      if (one.keys++ == 0) {
        one.key = task->key.text();
        for (const std::string& what : waits_for(*task)) {
          one.waits_for += (one.waits_for.empty() ? "" : ", ") + what;
        }
      }
    }
    expire(*task, now);
  }
  // Not where there is no wall clock: the simulator's faults make watches late all the time.
  for (auto& [what, one] : late) {
    if (core.options.stopwatch != nullptr) {
      log::warn("keys wait too long for the caches",
                {{"controller", controllers[what.first]->op->name},
                 {"for", name_of(what.second)},
                 {"keys", static_cast<std::uint64_t>(one.keys)},
                 {"key", one.key},
                 {"waits_for", one.waits_for}});
    }
  }
  for (const auto& controller : controllers) {
    if (controller->unsynced.empty() && controller->next_resync <= now) {
      queue_all(*controller, Priority::Resync, now, Cause::Resync);
    }
  }
}

// Barriers that the caches never reached: look for ourselves, and let the key run; with what was
// found, if it must see all.
void Engine::Impl::expire(Task& task, Instant now) {
  const TaskId id = task.id;
  if (!task.controller->unseen.empty()) {
    // However long it takes: who asked for the lists goes on until there is an answer.
    core.prolong_wait(task, now);
    return;
  }
  if (core.options.on_expired_wait) {
    report_expired(task);
  }
  std::set<Watched, WatchedOrder> watches = core.barrier.watches(id);
  for (const Ref& ref : core.barrier.objects(id)) {
    watches.insert({ref.kind, core.world.cache(*ref.kind).watch_of(ref.key.ns)});
  }
  core.barrier.drop(id);
  for (const Watched& watch : watches) {
    core.out.emplace_back(Relist{.kind = watch.kind, .ns = watch.ns});
    // A refused kind has no list to wait for.
    if (task.controller->op->sees_all &&
        !core.observations.contains(unreadable_query(*watch.kind, watch.ns))) {
      core.barrier.wait_relist(id, watch);
    }
  }
  if (core.barrier.waits(id)) {  // it must see what it did before it promises more
    core.prolong_wait(task, now);
    return;
  }
  plans.release(task, now);
}

void Engine::Impl::report_expired(const Task& task) const {
  ExpiredWait wait{.op = *task.controller->op, .key = task.key};
  for (const auto& [watch, version] : core.barrier.versions(task.id)) {
    wait.versions.push_back({.kind = watch.kind, .version = version});
  }
  for (const Ref& ref : core.barrier.objects(task.id)) {
    wait.objects.push_back(ref);
  }
  if (!wait.versions.empty() || !wait.objects.empty()) {
    core.options.on_expired_wait(wait);
  }
}

std::vector<std::string> Engine::Impl::waits_for(const Task& task) const {
  std::vector<std::string> texts;
  for (const Watched& watch : core.barrier.watches(task.id)) {
    texts.push_back(text_of(watch));
  }
  for (const Ref& ref : core.barrier.objects(task.id)) {
    texts.push_back(std::string(ref.kind->name) + " " + ref.key.text());
  }
  return texts;
}

}  // namespace athanor::runtime
