// SPDX-License-Identifier: Apache-2.0
// The engine's inputs and turns. What happens to one plan: plan_runner.cpp.
#include "runtime/engine/engine.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "runtime/engine/engine_impl.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

Engine::Impl::Impl(std::span<const Operator* const> operators, EngineOptions engine_options)
    : core(operators, std::move(engine_options)), plans(core) {
  for (const Operator* op : operators) {
    ATHANOR_CHECK(op->reconcile != nullptr && (op->singleton || op->primary != nullptr),
                  "an operator has a function and keys");
    auto controller = std::make_unique<Controller>();
    controller->op = op;
    controller->number = controllers.size();
    controller->user = op->user.empty()
                           ? "system:serviceaccount:kube-system:" + std::string(op->name)
                           : std::string(op->user);
    controller->unsynced.insert(op->reads.begin(), op->reads.end());
    if (op->primary != nullptr) {
      controller->unsynced.insert(op->primary);
      if (!op->singleton) {
        primaries[op->primary].push_back(controller.get());
      }
    }
    core.metrics.add_controller(op->name);
    controllers.push_back(std::move(controller));
  }
}

// ---- inputs

void Engine::Impl::take(const WatchEvent& event, Instant now) {
  Cache& held = core.world.cache(*event.kind);
  const std::uint64_t version = version_number(event.object.resource_version());
  const bool bookmark = event.type == WatchEvent::Type::Bookmark;
  const std::string ns = held.watch_of(bookmark ? event.ns : event.object.ns());
  if (!held.synced(ns)) {
    return;  // the list to come contains it
  }
  if (!bookmark) {
    plans.saw(*event.kind, event.object);
  }
  std::optional<Cache::Change> change;
  switch (event.type) {
    case WatchEvent::Type::Changed:
      change = held.set(event.object);
      break;
    case WatchEvent::Type::Deleted:
      change = held.remove(event.object);
      break;
    case WatchEvent::Type::Bookmark:
      held.pass(version, ns);
      break;
  }
  if (change) {
    const Key key = change->newest().key();
    changed(held,
            {.key = key,
             .gone = !change->after,
             .change = [&]() -> const Cache::Change& { return *change; }},
            now);
  }
  opened(core.barrier.passed({event.kind, ns}, held.version(ns)), now);
}

void Engine::Impl::take(const Relisted& listed, Instant now) {
  Cache& held = core.world.cache(*listed.kind);
  const bool first = !held.synced();
  const std::string ns = held.watch_of(listed.ns);
  const std::string unreadable = unreadable_query(*listed.kind, ns);
  if (listed.error || core.observations.contains(unreadable)) {
    core.report(unreadable, listed.error, now);
  }
  held.add(listed.objects, listed.first, ns);
  if (!listed.last) {
    return;
  }
  held.replace(listed.version, ns,
               [&](const Cache::Difference& change) { changed(held, change, now); });
  if (first && held.synced()) {
    synced(*listed.kind, now);
  }
  // A kind that cannot be listed shows nothing more.
  opened(core.barrier.passed({listed.kind, ns}, listed.error ? kGone : held.version(ns)), now);
  opened(core.barrier.listed({listed.kind, ns}), now);
  if (!listed.early || listed.error) {  // a refusal is as new as any later one
    for (const auto& controller : controllers) {
      controller->unseen.erase({listed.kind, ns});
    }
    opened(core.barrier.relisted({listed.kind, ns}), now);
  }
}

void Engine::Impl::changed(const Cache& held, const Cache::Difference& news, Instant now) {
  const Kind& kind = held.kind();
  const Key& key = news.key;
  if (core.board.wants(kind)) {
    const Cache::Change change = news.change();
    core.board.happened(ObjectChanged{.kind = kind,
                                      .before = change.before ? &*change.before : nullptr,
                                      .after = change.after ? &*change.after : nullptr},
                        now, &core.world);
  }
  if (news.gone) {
    plans.forget_applied({&kind, key});
  }
  if (const auto at = primaries.find(&kind); at != primaries.end()) {
    for (Controller* controller : at->second) {
      if (!controller->unsynced.empty()) {
        continue;
      }
      core.keys.queue(core.keys.of(*controller, key), Priority::Interactive, now, Cause::Changed);
    }
  }
  queue_readers(kind, news, now);
  if (core.barrier.awaits({&kind, key})) {
    const std::uint64_t version =
        news.gone ? kGone : version_number(news.change().newest().resource_version());
    opened(core.barrier.changed({&kind, key}, version), now);
  }
}

void Engine::Impl::queue_readers(const Kind& kind, const Cache::Difference& news, Instant now) {
  if (!core.reads.is_read(kind, news.key)) {
    return;
  }
  const Cache::Change change = news.change();
  // Thousands of keys may read one list: each operator is asked once.
  std::vector<std::optional<bool>> wanted(controllers.size());
  const auto wants = [&](std::size_t number) {
    if (!wanted[number]) {
      wanted[number] = !overlooks(*controllers[number]->op, kind, change);
    }
    return *wanted[number];
  };
  std::set<TaskId> readers;
  core.reads.readers_of(kind, change, wants, readers);
  for (const TaskId id : readers) {
    if (Task* task = core.keys.find(id)) {
      core.keys.queue(*task, Priority::Interactive, now, Cause::ReadChanged);
    }
  }
}

void Engine::Impl::synced(const Kind& kind, Instant now) {
  for (const auto& controller : controllers) {
    if (controller->unsynced.erase(&kind) > 0 && controller->unsynced.empty()) {
      queue_all(*controller, Priority::Interactive, now, Cause::Synced);
    }
  }
}

void Engine::Impl::take(const Observation& observation, Instant now) {
  const Observations::Taken taken = core.observations.take(observation, now);
  if (core.board.active() && taken.took) {
    core.board.happened(
        QuestionAnswered{
            .query = observation.query, .good = !observation.error, .took = *taken.took},
        now);
  }
  if (taken.news) {
    core.queue_readers(observation.query, now);
  }
}

void Engine::Impl::take(const Tick&, Instant now) {
  timer.reset();
  expire(now);
  core.observations.sweep(now);
  plans.sweep(now);
}

// Backoffs, deadlines and ages are lengths of time, which a step does not change. Wake-ups are
// points in time that keys chose by the old clock: these run once and choose again, and so do those
// whose plan is under way.
void Engine::Impl::take(const ClockStep& step, Instant now) {
  timer.reset();
  for (const auto& controller : controllers) {
    controller->next_resync += step.by;
  }
  decltype(core.deadlines) moved;
  for (const auto& [when, id] : core.deadlines) {
    moved.emplace(when + step.by, id);
  }
  core.deadlines.swap(moved);
  for (const TaskId id : core.keys.ids()) {
    Task& task = core.keys.at(id);
    task.started += step.by;
    task.barrier_end += step.by;
    task.waits_since += step.by;
    if (task.phase != Task::Phase::Idle) {
      core.keys.queue(task, Priority::Interactive, now, Cause::Wake);
    }
  }
  core.observations.shift(step.by);
  plans.shift(step.by);
  core.keys.wake_all(now);
}

// ---- turns

void Engine::Impl::queue_all(Controller& controller, Priority priority, Instant now, Cause cause) {
  // A tenth of jitter, so that controllers do not resync together.
  const auto spread = core.options.entropy->next() % 1000;
  controller.next_resync =
      now + core.options.resync + core.options.resync / 10'000 * static_cast<int>(spread);
  if (controller.op->singleton) {
    core.keys.queue(core.keys.of(controller, {"", "singleton"}), priority, now, cause);
    return;
  }
  core.world.cache(*controller.op->primary).objects().each_key({}, [&](const Key& key) {
    core.keys.queue(core.keys.of(controller, key), priority, now, cause);
  });
}

void Engine::Impl::opened(const std::vector<TaskId>& ids, Instant now) {
  for (const TaskId id : ids) {
    Task* task = core.keys.find(id);
    if (task != nullptr && task->phase == Task::Phase::Waiting) {
      plans.release(*task, now);
    }
  }
}

void Engine::Impl::pump(Instant now) {
  guarded(0, now, [&] { expire(now); });
  core.keys.wake(now);
  for (std::size_t runs = 0; runs < core.options.keys_per_run; ++runs) {
    const auto next = core.keys.take(core.options.shuffle ? core.options.entropy : nullptr);
    if (!next) {
      break;
    }
    if (Task* task = core.keys.find(next->id)) {
      core.metrics.taken(task->controller->number);
      guarded(next->id, now, [&] {
        if (!task->controller->op->sees_all || !waits_for_sight(*task, now)) {
          plans.reconcile(*task, next->since, now);
        }
      });
    }
  }
  core.keys.give_back_memory();
  set_timer(now);
}

void Engine::Impl::set_timer(Instant now) {
  std::optional<Instant> due;
  const auto at = [&](Instant when) {
    if (!due || when < *due) {
      due = when;
    }
  };
  if (core.keys.queue().ready() > 0) {
    at(now);
  }
  if (const auto wake = core.keys.queue().next_wake()) {
    at(*wake);
  }
  if (!core.deadlines.empty()) {
    at(core.deadlines.begin()->first);
  }
  for (const auto& controller : controllers) {
    if (controller->unsynced.empty()) {
      at(controller->next_resync);
    }
  }
  if (due && (!timer || *due != *timer)) {
    timer = due;
    core.out.emplace_back(SetTimer{.when = *due});
  }
}

void Engine::Impl::begin_turn(Instant now) {
  core.latest = now;
  core.world.pack_unused(now);
}

// ---- Engine

Engine::Engine(std::span<const Operator* const> operators, EngineOptions options) {
  ATHANOR_CHECK(options.entropy != nullptr, "jitter needs a source");
  impl_ = std::make_unique<Impl>(operators, std::move(options));
}
Engine::~Engine() = default;

std::span<const Kind* const> Engine::kinds() const {
  return impl_->core.world.kinds();
}

void Engine::absorb(const Input& input, Instant now) {
  impl_->begin_turn(now);
  impl_->absorb(input, now);
}

void Engine::run(Instant now, std::vector<Effect>& effects) {
  impl_->begin_turn(now);
  impl_->pump(now);
  effects.insert(effects.end(), std::make_move_iterator(impl_->core.out.begin()),
                 std::make_move_iterator(impl_->core.out.end()));
  impl_->core.out.clear();
}

void Engine::feed(const Input& input, Instant now, std::vector<Effect>& effects) {
  absorb(input, now);
  run(now, effects);
}

void Engine::look(const std::function<void(const View&)>& reader) const {
  Reads reads;
  reader(View(impl_->core.world, reads));
}

bool Engine::idle() const {
  return impl_->core.keys.queue().ready() == 0 && impl_->plans.idle() &&
         impl_->core.deadlines.empty() && impl_->core.out.empty();
}

std::optional<Instant> Engine::next_due() const {
  std::optional<Instant> due = impl_->core.keys.queue().next_wake();
  if (!impl_->core.deadlines.empty() && (!due || impl_->core.deadlines.begin()->first < *due)) {
    due = impl_->core.deadlines.begin()->first;
  }
  return due;
}

std::string Engine::state_metrics(Instant now) const {
  return impl_->core.board.state(impl_->core.world, impl_->core.world.kinds(), now);
}

void Engine::set_role(std::string_view role) {
  impl_->core.board.set_role(role);
}

const Object* Engine::cached(const Kind& kind, const Key& key) const {
  const Cache* held = impl_->core.world.find(kind);
  return held == nullptr ? nullptr : held->find(key);
}

}  // namespace athanor::runtime
