// SPDX-License-Identifier: Apache-2.0
// The engine's inputs and the scheduling of keys. What happens to one plan: engine_plan.cpp.
#include "runtime/engine/engine.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/memory.hpp"
#include "runtime/engine/engine_impl.hpp"
#include "runtime/engine/tracer.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

// So many keys that were there and are not any more leave enough to give it back to the system.
constexpr std::size_t kManyTasks = 10'000;
const Value kNone{};

std::vector<Index> all_indexes(std::span<const Operator* const> operators) {
  std::vector<Index> indexes;
  for (const Operator* op : operators) {
    indexes.insert(indexes.end(), op->indexes.begin(), op->indexes.end());
  }
  return indexes;
}

}  // namespace

Engine::Impl::Impl(std::span<const Operator* const> operators, EngineOptions engine_options)
    : options(std::move(engine_options)),
      indexes(all_indexes(operators)),
      reads(indexes),
      events(*options.entropy),
      metrics(options.metrics),
      board(options.instruments, options.metrics) {
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
    for (const Kind* kind : controller->unsynced) {
      const auto place = options.places.find(kind);
      caches.try_emplace(kind, *kind, indexes,
                         place == options.places.end() ? options.namespaces : place->second.watched,
                         options.warm_objects);
    }
    metrics.add_controller(op->name);
    controllers.push_back(std::move(controller));
  }
  for (auto& [kind, cache] : caches) {
    kinds.push_back(kind);
    caches_by_address.emplace(kind, &cache);
  }
}

// ---- Snapshot

Cache& Engine::Impl::cache(const Kind& kind) {
  const auto known = caches_by_address.find(&kind);
  if (known != caches_by_address.end()) {
    return *known->second;
  }
  const auto at = caches.find(&kind);  // a kind of the same name
  ATHANOR_CHECK(at != caches.end(), "events come for watched kinds only");
  return at->second;
}

const Cache* Engine::Impl::find_cache(const Kind& kind) const {
  const auto known = caches_by_address.find(&kind);
  if (known != caches_by_address.end()) {
    return known->second;
  }
  const auto at = caches.find(&kind);
  return at == caches.end() ? nullptr : &at->second;
}

const Cache* Engine::Impl::watching(const Ref& ref) const {
  const Cache* held = find_cache(*ref.kind);
  if (held == nullptr || !held->watches(ref.key.ns)) {
    return nullptr;
  }
  // Of a kind that may not be listed the cache is empty, whatever there is, and no event follows.
  const bool refused =
      held->version(ref.key.ns) == 0 && observations.contains(unreadable_query(*ref.kind));
  return refused ? nullptr : held;
}

std::optional<Object> Engine::Impl::get(const Kind& kind, const Key& key) const {
  const Cache* held = find_cache(kind);
  ATHANOR_CHECK(held != nullptr, "an operator reads kinds that it declared");
  const Object* object = held->find(key);
  if (object == nullptr) {
    return std::nullopt;
  }
  return *object;
}

std::vector<Object> Engine::Impl::list(const Kind& kind, const Select& select) const {
  const Cache* held = find_cache(kind);
  ATHANOR_CHECK(held != nullptr, "an operator lists kinds that it declared");
  return held->list(select);
}

Totals Engine::Impl::totals(const Kind& kind, const Select& select, Measure measure) const {
  const Cache* held = find_cache(kind);
  return held != nullptr && Cache::is_bucket(select) ? held->totals(select, measure)
                                                     : Snapshot::totals(kind, select, measure);
}

std::vector<Group> Engine::Impl::groups(const Kind& kind, const Select& select,
                                        const Ranking& ranking) const {
  const Cache* held = find_cache(kind);
  return held != nullptr && Cache::is_bucket(select) ? held->groups(select, ranking)
                                                     : Snapshot::groups(kind, select, ranking);
}

std::vector<Object> Engine::Impl::ranked(const Kind& kind, const Select& select,
                                         const Ranking& ranking, std::string_view group,
                                         const Object* after, std::size_t limit) const {
  const Cache* held = find_cache(kind);
  return held != nullptr && Cache::is_bucket(select)
             ? held->ranked(select, ranking, group, after, limit)
             : Snapshot::ranked(kind, select, ranking, group, after, limit);
}

std::shared_ptr<const void> Engine::Impl::derived(const Derivation& derivation) const {
  std::vector<std::uint64_t> changes;
  for (const Kind* kind : derivation.kinds) {
    const Cache* held = find_cache(*kind);
    ATHANOR_CHECK(held != nullptr, "an operator derives from kinds that it declared");
    changes.push_back(held->changes());
  }
  Derived& kept = kept_derived[derivation.make];
  if (kept.made == nullptr || kept.changes != changes || derive_anew) {
    Reads done;
    kept.made = derivation.make(View(*this, done));
    kept.changes = std::move(changes);
    const auto of_kinds = [&](const Reads::ListRead& read) {
      return std::find(derivation.kinds.begin(), derivation.kinds.end(), read.kind) !=
             derivation.kinds.end();
    };
    ATHANOR_CHECK(done.objects.empty() && done.observations.empty() &&
                      std::all_of(done.lists.begin(), done.lists.end(), of_kinds),
                  "a derivation reads the kinds that it names alone");
  }
  return kept.made;
}

Observed Engine::Impl::observe(std::string_view query, Duration) const {
  const auto at = observations.find(query);
  return at == observations.end() ? Observed{} : at->second;
}

const Value& Engine::Impl::config(std::string_view section) const {
  const auto at = options.config.find(section);
  return at == options.config.end() ? kNone : at->second;
}

// ---- inputs

void Engine::Impl::take(const WatchEvent& event, Instant now) {
  Cache& held = cache(*event.kind);
  const std::uint64_t version = version_number(event.object.resource_version());
  const bool bookmark = event.type == WatchEvent::Type::Bookmark;
  const std::string ns = held.watch_of(bookmark ? event.ns : event.object.ns());
  if (!held.synced(ns)) {
    return;  // the list to come contains it
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
  opened(barrier.passed({event.kind, ns}, held.version(ns)), now);
}

void Engine::Impl::take(const Relisted& listed, Instant now) {
  Cache& held = cache(*listed.kind);
  const bool first = !held.synced();
  const std::string ns = held.watch_of(listed.ns);
  const std::string unreadable = unreadable_query(*listed.kind, ns);
  if (listed.error || observations.contains(unreadable)) {
    report(unreadable, listed.error, now);
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
  opened(barrier.passed({listed.kind, ns}, held.version(ns)), now);
  if (!listed.early || listed.error) {  // a refusal is as new as any later one
    for (const auto& controller : controllers) {
      controller->unseen.erase({listed.kind, ns});
    }
    opened(barrier.relisted({listed.kind, ns}), now);
  }
}

void Engine::Impl::changed(const Cache& held, const Cache::Difference& news, Instant now) {
  const Kind& kind = held.kind();
  const Key& key = news.key;
  if (board.wants(kind)) {
    const Cache::Change change = news.change();
    board.happened(ObjectChanged{.kind = kind,
                                 .before = change.before ? &*change.before : nullptr,
                                 .after = change.after ? &*change.after : nullptr},
                   now, this);
  }
  if (news.gone) {
    const Ref ref{&kind, key};
    for (auto at = last_applied.lower_bound({ref, ""});
         at != last_applied.end() && at->first.first == ref;) {
      at = last_applied.erase(at);
    }
  }
  if (const auto at = primaries.find(&kind); at != primaries.end()) {
    for (Controller* controller : at->second) {
      if (!controller->unsynced.empty()) {
        continue;
      }
      queue(task_of(*controller, key), Priority::Interactive, now, Cause::Changed);
    }
  }
  queue_readers(kind, news, now);
  opened(barrier.changed({&kind, key}), now);
}

void Engine::Impl::queue_readers(const Kind& kind, const Cache::Difference& news, Instant now) {
  if (!reads.is_read(kind, news.key)) {
    return;
  }
  const Cache::Change change = news.change();
  std::set<TaskId> readers;
  reads.readers_of(kind, change, readers);
  for (const TaskId id : readers) {
    Task* task = find(id);
    if (task != nullptr && !overlooks(*task->controller->op, kind, change)) {
      queue(*task, Priority::Interactive, now, Cause::ReadChanged);
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

void Engine::Impl::take(const WriteResult& result, Instant now) {
  if (options.tracer != nullptr) {
    options.tracer->answered(result);
  }
  if (const auto event = event_writes.find(result.id); event != event_writes.end()) {
    if (result.error) {
      events.forget(event->second);
    }
    event_writes.erase(event);
    return;
  }
  const auto at = writes.find(result.id);
  if (at == writes.end()) {
    return;
  }
  Task* task = find(at->second);
  writes.erase(at);
  ATHANOR_CHECK(task != nullptr && task->phase == Task::Phase::Writing,
                "a key with a write in flight waits for it");
  tell_answer(*task, result.error ? result.error->code : result.unknown ? 503 : 0, now);
  if (result.error || result.unknown) {
    const Error error = result.error.value_or(Error::unavailable("no answer to a write"));
    failed(*task, error, &result, now);
    return;
  }
  written(*task, result, now);
  ++task->work->step;
  advance(*task, now);
}

void Engine::Impl::take(const Observation& observation, Instant now) {
  const auto question = probed.find(observation.query);
  if (observation.asked != 0 &&
      (question == probed.end() || question->second.id != observation.asked ||
       !this->observation(observation.query).in_flight)) {
    return;
  }
  Observed& known = this->observation(observation.query);
  if (known.in_flight && observation.asked == 0 && !reads.is_observed(observation.query) &&
      question == probed.end()) {
    observations.erase(observation.query);  // what came of an Act that nobody asks about
    return;
  }
  const bool news = known.in_flight || known.value != observation.value ||
                    known.error.has_value() != observation.error.has_value() ||
                    (known.error && !(*known.error == *observation.error));
  known = {.value = observation.value, .error = observation.error, .at = now};
  if (board.active() && observation.asked != 0) {
    board.happened(QuestionAnswered{.query = observation.query,
                                    .good = !observation.error,
                                    .took = std::max(now - question->second.at, Duration::zero())},
                   now);
  }
  if (news) {
    queue_readers(observation.query, now);
  }
}

bool Engine::Impl::report(const std::string& query, const std::optional<Error>& error,
                          Instant now) {
  const auto known = observations.find(query);
  const bool news = error ? known == observations.end() || known->second.error != error
                          : known != observations.end();
  if (error) {
    observation(query) = {.error = error, .at = now};
  } else if (known != observations.end()) {
    observations.erase(known);
  }
  if (news) {
    queue_readers(query, now);
  }
  return news;
}

Observed& Engine::Impl::observation(const std::string& query) {
  const auto [place, fresh] = observations.try_emplace(query);
  if (fresh) {
    maybe_unread.push_back(query);
  }
  return place->second;
}

void Engine::Impl::queue_readers(std::string_view query, Instant now) {
  std::set<TaskId> readers;
  reads.readers_of(query, readers);
  for (const TaskId id : readers) {
    if (Task* task = find(id)) {
      queue(*task, Priority::Interactive, now, Cause::Observed);
    }
  }
}

void Engine::Impl::take(const Tick&, Instant now) {
  timer.reset();
  expire(now);
  sweep(now);
}

// Backoffs, deadlines and ages are lengths of time, which a step does not change. Wake-ups are
// points in time that keys chose by the old clock: these run once and choose again, and so do those
// whose plan is under way.
void Engine::Impl::take(const ClockStep& step, Instant now) {
  timer.reset();
  next_sweep += step.by;
  for (const auto& controller : controllers) {
    controller->next_resync += step.by;
  }
  decltype(deadlines) moved;
  for (const auto& [when, id] : deadlines) {
    moved.emplace(when + step.by, id);
  }
  deadlines.swap(moved);
  for (const TaskId id : task_ids()) {
    Task& task = tasks.at(id);
    task.started += step.by;
    task.barrier_end += step.by;
    task.waits_since += step.by;
    if (task.phase != Task::Phase::Idle) {
      queue(task, Priority::Interactive, now, Cause::Wake);
    }
  }
  for (auto& [query, known] : observations) {
    known.at += step.by;
  }
  for (auto& [query, question] : probed) {
    question.at += step.by;
  }
  woken(ready.wake_all(now));
}

void Engine::Impl::woken(const std::vector<TaskId>& ids) {
  for (const TaskId id : ids) {
    if (Task* task = find(id)) {
      task->cause = task->again_cause;
      metrics.queued(task->controller->number);
    }
  }
}

// Answers that nobody reads any more go after a while; a key that comes back asks again.
void Engine::Impl::sweep(Instant now) {
  if (now < next_sweep) {
    return;
  }
  next_sweep = now + kUnreadObservation;
  reads.take_unread(maybe_unread);
  // True: nothing to be seen here until it loses a reader, or comes back.
  std::erase_if(maybe_unread, [&](const std::string& query) {
    const auto known = observations.find(query);
    if (known == observations.end() || reads.is_observed(query)) {
      return true;
    }
    const bool old = !known->second.in_flight && now - known->second.at > kUnreadObservation;
    if (old) {
      observations.erase(known);
      probed.erase(query);
    }
    return old;
  });
}

// ---- scheduling

Task& Engine::Impl::task_of(Controller& controller, const Key& key) {
  const auto known = named_tasks.find(TaskName{controller.number, key});
  if (known != named_tasks.end()) {
    return **known;
  }
  ++last_task;
  Task& task =
      tasks.emplace(last_task, Task{.id = last_task, .controller = &controller, .key = key})
          .first->second;
  named_tasks.insert(&task);
  return task;
}

Task* Engine::Impl::find(TaskId id) {
  const auto at = tasks.find(id);
  return at == tasks.end() ? nullptr : &at->second;
}

std::vector<TaskId> Engine::Impl::task_ids() const {
  std::vector<TaskId> ids;
  ids.reserve(tasks.size());
  for (const auto& [id, task] : tasks) {
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

// At once, or when the pause since its last run is over.
void Engine::Impl::make_ready(Task& task, Priority priority, Instant now, Cause cause) {
  const Instant rested = task.started + task.controller->op->pause;
  const bool clock_went_back = task.started > now;
  if (rested > now && !clock_went_back) {
    task.again_cause = cause;
    ready.sleep(task.id, rested);
    return;
  }
  if (ready.add(task.id, priority, now)) {
    task.cause = cause;
    metrics.queued(task.controller->number);
  }
}

void Engine::Impl::queue(Task& task, Priority priority, Instant now, Cause cause) {
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

void Engine::Impl::queue_all(Controller& controller, Priority priority, Instant now, Cause cause) {
  // A tenth of jitter, so that controllers do not resync together.
  const auto spread = options.entropy->next() % 1000;
  controller.next_resync =
      now + options.resync + options.resync / 10'000 * static_cast<int>(spread);
  if (controller.op->singleton) {
    queue(task_of(controller, {"", "singleton"}), priority, now, cause);
    return;
  }
  cache(*controller.op->primary).objects().each_key({}, [&](const Key& key) {
    queue(task_of(controller, key), priority, now, cause);
  });
}

void Engine::Impl::opened(const std::vector<TaskId>& ids, Instant now) {
  for (const TaskId id : ids) {
    Task* task = find(id);
    if (task != nullptr && task->phase == Task::Phase::Waiting) {
      rest(*task, now);
    }
  }
}

void Engine::Impl::pump(Instant now) {
  guarded(0, now, [&] { expire(now); });
  woken(ready.wake(now));
  most_tasks = std::max(most_tasks, tasks.size());
  for (std::size_t runs = 0; runs < options.keys_per_run; ++runs) {
    const auto next = ready.take(options.shuffle ? options.entropy : nullptr);
    if (!next) {
      break;
    }
    if (Task* task = find(next->id)) {
      metrics.taken(task->controller->number);
      guarded(next->id, now, [&] { reconcile(*task, next->since, now); });
    }
  }
  // At the start every key is there at once.
  if (ready.ready() == 0 && most_tasks - tasks.size() > kManyTasks) {
    most_tasks = tasks.size();
    memory::give_back();
  }
  set_timer(now);
}

void Engine::Impl::see_clock(Instant now) {
  latest = now;
}

void Engine::Impl::rest(Instant now) {
  for (auto& [kind, cache] : caches) {
    cache.rest(now);
  }
}

void Engine::Impl::set_timer(Instant now) {
  std::optional<Instant> due;
  const auto at = [&](Instant when) {
    if (!due || when < *due) {
      due = when;
    }
  };
  if (ready.ready() > 0) {
    at(now);
  }
  if (const auto wake = ready.next_wake()) {
    at(*wake);
  }
  if (!deadlines.empty()) {
    at(deadlines.begin()->first);
  }
  for (const auto& controller : controllers) {
    if (controller->unsynced.empty()) {
      at(controller->next_resync);
    }
  }
  if (due && (!timer || *due != *timer)) {
    timer = due;
    out.emplace_back(SetTimer{.when = *due});
  }
}

std::vector<std::string> Engine::Impl::observed_by(const Task& task) const {
  std::vector<std::string> queries;
  if (const Reads* read = reads.of(task.id)) {
    for (const auto& [query, max_age] : read->observations) {
      queries.push_back(query);
    }
  }
  return queries;
}

void Engine::Impl::drop_unread(const std::vector<std::string>& queries) {
  for (const std::string& query : queries) {
    const auto known = observations.find(query);
    if (known != observations.end() && !known->second.in_flight && !reads.is_observed(query)) {
      observations.erase(known);
      probed.erase(query);
    }
  }
}

void Engine::Impl::forget(Task& task) {
  const TaskId id = task.id;
  const std::vector<std::string> queries = observed_by(task);
  reads.remove(id);
  drop_unread(queries);
  ready.cancel(id);
  named_tasks.erase(&task);
  tasks.erase(id);
}

// ---- Engine

Engine::Engine(std::span<const Operator* const> operators, EngineOptions options) {
  ATHANOR_CHECK(options.entropy != nullptr, "jitter needs a source");
  impl_ = std::make_unique<Impl>(operators, std::move(options));
}
Engine::~Engine() = default;

std::span<const Kind* const> Engine::kinds() const {
  return impl_->kinds;
}

void Engine::absorb(const Input& input, Instant now) {
  impl_->see_clock(now);
  impl_->rest(now);
  impl_->absorb(input, now);
}

void Engine::run(Instant now, std::vector<Effect>& effects) {
  impl_->see_clock(now);
  impl_->rest(now);
  impl_->pump(now);
  effects.insert(effects.end(), std::make_move_iterator(impl_->out.begin()),
                 std::make_move_iterator(impl_->out.end()));
  impl_->out.clear();
}

void Engine::feed(const Input& input, Instant now, std::vector<Effect>& effects) {
  absorb(input, now);
  run(now, effects);
}

void Engine::look(const std::function<void(const View&)>& reader) const {
  Reads reads;
  reader(View(*impl_, reads));
}

bool Engine::idle() const {
  return impl_->ready.ready() == 0 && impl_->writes.empty() && impl_->event_writes.empty() &&
         impl_->deadlines.empty() && impl_->out.empty();
}

std::optional<Instant> Engine::next_due() const {
  std::optional<Instant> due = impl_->ready.next_wake();
  if (!impl_->deadlines.empty() && (!due || impl_->deadlines.begin()->first < *due)) {
    due = impl_->deadlines.begin()->first;
  }
  return due;
}

std::string Engine::state_metrics(Instant now) const {
  return impl_->board.state(*impl_, impl_->kinds, now);
}

void Engine::set_role(std::string_view role) {
  impl_->board.set_role(role);
}

const Object* Engine::cached(const Kind& kind, const Key& key) const {
  const Cache* held = impl_->find_cache(kind);
  return held == nullptr ? nullptr : held->find(key);
}

}  // namespace athanor::runtime
