// SPDX-License-Identifier: Apache-2.0
// State of the engine: the text behind /debug/queue.
#include <algorithm>

#include "runtime/engine/engine_impl.hpp"

namespace athanor::runtime {

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::Synced:
      return "caches listed";
    case Cause::Changed:
      return "object changed";
    case Cause::ReadChanged:
      return "a read changed";
    case Cause::Observed:
      return "observation";
    case Cause::Retry:
      return "retry";
    case Cause::Wake:
      return "wake-up";
    case Cause::Resync:
      return "resync";
    case Cause::Continued:
      return "continued";
  }
  return "";
}

namespace {

std::string milliseconds_text(Duration duration) {
  return format_go_duration(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

Value list_of(const std::vector<std::string>& texts) {
  Value list = Value::list();
  for (const std::string& text : texts) {
    list.push_back(text);
  }
  return list;
}

}  // namespace

Value Engine::Impl::describe(const Task& task, Instant now) const {
  Value one = Value::object({{"controller", task.controller->op->name}, {"key", task.key.text()}});
  const auto wake = core.keys.queue().wake_of(task.id);
  switch (task.phase) {
    case Task::Phase::Idle:
      if (const auto since = core.keys.queue().ready_since(task.id)) {
        one.set("state", "ready");
        one.set("reason", name_of(task.cause));
        one.set("for", milliseconds_text(now - *since));
      } else if (wake) {
        one.set("state", task.again_cause == Cause::Retry ? "backoff" : "sleeping");
        one.set("reason", name_of(task.again_cause));
        one.set("until", format_micro_time(*wake));
      } else {
        return {};
      }
      break;
    case Task::Phase::Writing:
      one.set("state", "writing");
      one.set("reason", name_of(task.cause));
      one.set("for", milliseconds_text(now - task.started));
      one.set("step", task.work->first_unanswered() + 1);
      one.set("steps", task.work->plan.steps().size());
      break;
    case Task::Phase::Waiting:
      one.set("state", task.controller->unseen.empty() ? "waiting for its own writes"
                                                       : "waiting for the first lists");
      one.set("reason", name_of(task.cause));
      one.set("for", milliseconds_text(now - task.waits_since));
      if (Value what = list_of(waits_for(task)); !what.empty()) {
        one.set("waitsFor", std::move(what));
      }
      if (task.overdue != Task::Overdue::Nothing) {
        one.set("overdue", true);
      }
      one.set("until", format_micro_time(task.barrier_end));
      break;
  }
  if (task.dirty) {
    one.set("again", name_of(task.dirty_cause));
  }
  if (task.failures > 0) {
    one.set("failures", task.failures);
  }
  if (task.error != nullptr) {
    one.set("error", *task.error);
  }
  return one;
}

Value Engine::debug(Instant now, std::size_t limit) const {
  Value keys = Value::list();
  std::size_t busy = 0;
  for (const TaskId id : impl_->core.keys.ids()) {
    Value one = impl_->describe(impl_->core.keys.at(id), now);
    if (one.is_null()) {
      continue;
    }
    ++busy;
    if (keys.size() < limit) {
      keys.push_back(std::move(one));
    }
  }
  Value controllers = Value::object();
  for (const auto& controller : impl_->controllers) {
    Value unlisted = Value::list();
    for (const Kind* kind : controller->unsynced) {
      unlisted.push_back(kind->plural);
    }
    Value one = Value::object({{"waitsForLists", unlisted}});
    if (!controller->unseen.empty()) {
      Value unseen = Value::list();
      for (const Watched& watch : controller->unseen) {
        unseen.push_back(watch.ns.empty() ? std::string(watch.kind->plural)
                                          : std::string(watch.kind->plural) + " in " + watch.ns);
      }
      one.set("waitsForFirstLists", std::move(unseen));
    }
    controllers.set(controller->op->name, std::move(one));
  }
  return Value::object({{"time", format_micro_time(now)},
                        {"keys", keys},
                        {"busy", busy},
                        {"known", impl_->core.keys.size()},
                        {"ready", impl_->core.keys.queue().ready()},
                        {"writesInFlight", impl_->plans.writes_in_flight()},
                        {"controllers", controllers}});
}

}  // namespace athanor::runtime
