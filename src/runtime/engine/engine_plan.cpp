// SPDX-License-Identifier: Apache-2.0
// One plan's way: reconcile, steps in order, results, and when its key runs again.
#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/log.hpp"
#include "kube/text/json.hpp"
#include "runtime/engine/engine_impl.hpp"
#include "runtime/engine/reaction.hpp"
#include "runtime/engine/tracer.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

// Targets are dependencies, too: a step is left out because of what the cache holds of them.
void add_targets(Reads& reads, const Plan& plan) {
  if (plan.steps().empty()) {
    return;
  }
  // A few are looked through, of many a set is made.
  constexpr std::size_t kFew = 32;
  const bool few = reads.objects.size() + plan.steps().size() <= kFew;
  std::set<Ref, RefOrder> known;
  if (!few) {
    known.insert(reads.objects.begin(), reads.objects.end());
  }
  const auto is_new = [&](const Ref& ref) {
    return few ? std::ranges::find(reads.objects, ref) == reads.objects.end()
               : known.insert(ref).second;
  };
  for (const Step& step : plan.steps()) {
    const Ref* ref = target_of(step);
    if (ref != nullptr && !std::holds_alternative<Emit>(step) && !ref->key.name.empty() &&
        is_new(*ref)) {
      reads.objects.push_back(*ref);
    }
  }
}

// Writes that answer without a version, although an event will follow: an immediate deletion, a
// binding.
bool leaves_no_version(const Step& step, const Object& cached) {
  if (std::holds_alternative<Delete>(step)) {
    return true;
  }
  const auto* replace = std::get_if<Replace>(&step);
  return replace != nullptr && replace->subresource == "binding" &&
         cached.spec()["nodeName"].as_string().empty();
}

}  // namespace

void Engine::Impl::reconcile(Task& task, Instant since, Instant now) {
  const Operator& op = *task.controller->op;
  if (task.controller->op->sees_all && prove_sight(task, now)) {
    return;
  }
  const Instant started = options.stopwatch != nullptr ? options.stopwatch->now() : Instant{};
  if (options.tracer != nullptr) {
    options.tracer->began(task.id, op.name, task.key, task.cause, now - since);
  }
  Reads done;
  Plan plan = make_plan(task, done, now);
  if (options.stopwatch != nullptr) {
    metrics.took(task.controller->number, options.stopwatch->now() - started);
  }
  metrics.started(task.controller->number, now - since, done.objects.size() + done.lists.size());
  if (options.on_reconcile) {
    options.on_reconcile(op, task.key, done.objects.size() + done.lists.size(), plan);
  }
  add_targets(done, plan);
  // Of an object that is gone nobody will want to know what its key alone has read.
  const bool gone = !op.singleton && cache(*op.primary).find(task.key) == nullptr;
  const std::vector<std::string> queries = gone ? observed_by(task) : std::vector<std::string>();
  if (!op.singleton) {
    std::erase(done.objects, Ref{op.primary, task.key});  // its changes queue the key anyway
  }
  const auto observed = done.observations;
  reads.set(task.id, std::move(done));
  drop_unread(queries);
  probe_stale(observed, now);
  task.started = now;
  task.work = std::make_unique<Work>(Work{.plan = std::move(plan)});
  remember_seen(*task.work);
  task.again = task.work->plan.wake();
  task.again_cause = Cause::Wake;
  task.dirty = false;
  task.dirty_priority = Priority::Resync;
  task.phase = Task::Phase::Writing;
  advance(task, now);
}

void Engine::Impl::probe_stale(const std::vector<std::pair<std::string, Duration>>& queries,
                               Instant now) {
  for (const auto& [query, max_age] : queries) {
    if (query.starts_with("refused:") || query.starts_with("contested:") ||
        query.starts_with("unreadable:")) {
      continue;  // the engine itself answers these
    }
    Observed& known = observation(query);
    const bool answered = known.value || known.error;
    if (known.in_flight || (answered && now - known.at <= max_age)) {
      continue;
    }
    const auto [last, first] = probed.try_emplace(query);
    if (!first && answered && now - last->second.at < kProbeInterval) {
      continue;
    }
    last->second = {.id = ++last_question, .at = now};
    known.in_flight = true;
    out.emplace_back(Probe{.query = query, .id = last_question});
  }
}

void Engine::Impl::remember_seen(Work& work) const {
  const std::vector<Step>& steps = work.plan.steps();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto* status = std::get_if<Status>(&steps[i]);
    const Cache* held = status == nullptr ? nullptr : watching(status->target);
    const Object* object = held == nullptr ? nullptr : held->find(status->target.key);
    if (object != nullptr) {
      work.seen.try_emplace(status->target, *object);
    }
  }
}

Known Engine::Impl::known(const Task& task, const Ref& ref) const {
  const Cache* held = watching(ref);
  Known known{.watched = held != nullptr && held->synced(ref.key.ns)};
  if (known.watched) {
    known.cached = held->find(ref.key);
    known.newest = known.cached;
  }
  if (const auto at = task.work->seen.find(ref); at != task.work->seen.end()) {
    known.viewed = &at->second;
  }
  if (const auto at = task.work->written.find(ref); at != task.work->written.end()) {
    known.newest = &at->second;
  }
  return known;
}

Outcome Engine::Impl::outcome(Task& task, const Step& step) {
  if (const auto* apply = std::get_if<Apply>(&step)) {
    Apply named = *apply;
    if (named.manager.empty()) {
      named.manager = task.controller->op->name;
    }
    const auto last = last_applied.find({named.target, named.manager});
    return resolve(named, known(task, named.target),
                   last == last_applied.end() ? nullptr : &last->second);
  }
  return std::visit(
      [&](const auto& one) -> Outcome {
        using S = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<S, Create> || std::is_same_v<S, Patch> ||
                      std::is_same_v<S, Status> || std::is_same_v<S, Replace> ||
                      std::is_same_v<S, Delete>) {
          return resolve(one, known(task, one.target));
        } else {
          return Nothing{};
        }
      },
      step);
}

// Goes on with the plan until a write is in flight, a step failed, or all is done.
void Engine::Impl::advance(Task& task, Instant now) {
  const std::vector<Step>& steps = task.work->plan.steps();
  while (task.work->step < steps.size()) {
    if (task.work->step >= options.steps_per_plan) {
      task.dirty = true;
      task.dirty_priority = Priority::Interactive;
      task.dirty_cause = Cause::Continued;
      break;
    }
    const Step& step = steps[task.work->step];
    if (const auto* event = std::get_if<Emit>(&step)) {
      emit(task, *event, now);
      ++task.work->step;
      continue;
    }
    if (const auto* action = std::get_if<Act>(&step)) {
      act(*action, now);
      ++task.work->step;
      continue;
    }
    Outcome next = outcome(task, step);
    if (auto* error = std::get_if<Error>(&next)) {
      const Error refused = std::move(*error);
      failed(task, refused, nullptr, now);
      return;
    }
    if (auto* request = std::get_if<WriteRequest>(&next)) {
      send(task, std::move(*request));
      return;
    }
    metrics.suppressed(task.controller->number);
    ++task.work->step;
  }
  finish(task, now);
}

void Engine::Impl::send(Task& task, WriteRequest request) {
  request.user = task.controller->user;
  if (request.manager.empty()) {
    request.manager = task.controller->op->name;
  }
  task.work->write = ++last_write;
  writes.emplace(task.work->write, task.id);
  metrics.wrote(task.controller->number);
  if (options.tracer != nullptr) {
    options.tracer->sent(task.id, task.work->write, request);
  }
  out.emplace_back(SendWrite{.id = task.work->write,
                             .op = task.controller->op->name,
                             .request = std::move(request),
                             .urgent = task.controller->op->singleton});
}

void Engine::Impl::emit(Task& task, const Emit& step, Instant now) {
  if (!options.events) {
    return;
  }
  std::string uid = step.about_uid;
  if (uid.empty()) {
    const Known about = known(task, step.about);
    uid = about.newest == nullptr ? std::string() : std::string(about.newest->uid());
  }
  WriteRequest request = events.record(step, uid, task.controller->op->name, now);
  // Not where there is no wall clock: nobody reads the simulator's.
  if (options.stopwatch != nullptr && step.type == "Warning" && request.verb == WriteVerb::Create) {
    log::warn("a warning about an object", {{"controller", task.controller->op->name},
                                            {"kind", step.about.kind->name},
                                            {"key", step.about.key.text()},
                                            {"reason", step.reason},
                                            {"message", step.note}});
  }
  request.user = task.controller->user;
  const std::uint64_t id = ++last_write;
  event_writes.emplace(id, request.target.key);
  if (options.tracer != nullptr) {
    options.tracer->sent(task.id, id, request);
  }
  out.emplace_back(
      SendWrite{.id = id, .op = task.controller->op->name, .request = std::move(request)});
}

void Engine::Impl::act(const Act& step, Instant) {
  std::string query = step.verb + ":" + step.id;
  if (!acts.insert(query)) {
    return;
  }
  observation(query).in_flight = true;
  out.emplace_back(Execute{.id = step.id, .verb = step.verb, .args = step.args});
}

// A write succeeded: remember what came back, and wait until the cache has it.
void Engine::Impl::written(Task& task, const WriteResult& result, Instant now) {
  const Step& step = task.work->plan.steps()[task.work->step];
  // The query costs a digest of the step: not for the many writes of a world without refusals.
  constexpr std::string_view kRefused = "refused:";
  const auto some = observations.lower_bound(kRefused);
  if (some != observations.end() && some->first.starts_with(kRefused)) {
    if (const std::string refusal = refusal_query(step); observations.contains(refusal)) {
      report(refusal, std::nullopt, now);
    }
  }
  const Ref& ref = *target_of(step);
  if (task.failures >= kContested) {
    report(contested_query(ref), std::nullopt, now);
  }
  const Cache* held = watching(ref);
  const bool is_object = result.object && result.object->kind() == ref.kind->name;
  if (const auto* apply = std::get_if<Apply>(&step)) {
    const std::string manager =
        apply->manager.empty() ? std::string(task.controller->op->name) : apply->manager;
    last_applied.insert_or_assign({ref, manager}, apply->fields);
  }
  const Object* cached = held == nullptr ? nullptr : held->find(ref.key);
  const std::uint64_t version = is_object ? version_number(result.object->resource_version()) : 0;
  // A write that changed nothing returns a version that has been seen: no event will follow.
  const std::string ns(is_object ? result.object->ns() : std::string_view(ref.key.ns));
  if (held != nullptr && held->version(ns) < version) {
    barrier.wait_version(task.id, {ref.kind, held->watch_of(ns)}, version);
  } else if (cached != nullptr && leaves_no_version(step, *cached)) {
    barrier.wait_change(task.id, ref);
  }
  if (!is_object || std::holds_alternative<Delete>(step)) {
    task.work->written.erase(ref);
    return;
  }
  if (const auto seen = task.work->seen.find(ref);
      seen != task.work->seen.end() && std::holds_alternative<Status>(step)) {
    seen->second = *result.object;
  }
  task.work->written.insert_or_assign(Ref{ref.kind, result.object->key()}, *result.object);
}

void Engine::Impl::failed(Task& task, const Error& error, const WriteResult* result, Instant now) {
  const Step& step = task.work->plan.steps()[task.work->step];
  const Ref& ref = *target_of(step);
  metrics.failed(task.controller->number, error.code);
  log::debug(
      "step failed",
      {{"controller", task.controller->op->name},
       {"key", task.key.text()},
       {"step", name_of(step)},
       {"trace_id", options.tracer == nullptr ? std::string() : options.tracer->trace_id(task.id)},
       {"error", error.message}});
  const Cache* held = watching(ref);
  const Object* cached = held == nullptr ? nullptr : held->find(ref.key);
  const Failure failure{
      .error = error,
      .answered = result != nullptr,
      .unknown = result != nullptr && result->unknown,
      .creates = std::holds_alternative<Create>(step) || std::holds_alternative<Apply>(step),
      .deletes = std::holds_alternative<Delete>(step),
      .is_watched = held != nullptr,
      .is_cached = cached != nullptr,
      .other_object = names_another_object(error, step, cached),
      .changed_since = task.dirty,
      .failures = task.failures};
  if (runs_again(failure, false) == Again::Continue) {
    ++task.work->step;
    advance(task, now);
    return;
  }
  await(task, ref, awaits(failure));
  over(task, ReconcileResult::Failure, &error, now);
  const bool conflict = failure.answered && (error.code == 409 || failure.other_object);
  if (conflict && task.failures >= kContested && reads.is_observed(contested_query(ref))) {
    report(contested_query(ref), error, now);
  }
  const bool answered = is_final_refusal(failure) && report_refusal(step, error, now);
  if (runs_again(failure, answered) == Again::AtOnce) {
    ++task.failures;
    task.dirty_cause = answered ? Cause::Continued : task.dirty ? task.dirty_cause : Cause::Retry;
    task.dirty = true;
    task.dirty_priority = Priority::Interactive;
  } else {
    task.failures += answered ? 1 : 0;
    back_off(task, now, result == nullptr ? std::nullopt : result->retry_after);
  }
  rest(task, now);
}

void Engine::Impl::await(Task& task, const Ref& ref, Await what) {
  if (what == Await::Change) {
    barrier.wait_change(task.id, ref);
  } else if (what == Await::Relist) {
    const std::string ns = cache(*ref.kind).watch_of(ref.key.ns);
    barrier.wait_relist(task.id, {ref.kind, ns});
    out.emplace_back(Relist{.kind = ref.kind, .ns = ns});
  }
}

// Whether somebody reads it, and it is news.
bool Engine::Impl::report_refusal(const Step& step, const Error& error, Instant now) {
  const std::string any = refusals_query(step);
  if (!reads.is_observed(any)) {
    return false;
  }
  const bool news = report(refusal_query(step), error, now);
  report(any, error, now);
  return news;
}

void Engine::Impl::back_off(Task& task, Instant now, std::optional<Duration> at_least) {
  const Backoff& pace = task.controller->op->backoff;
  Duration delay = pace.first;
  for (int i = 0; i < task.failures && delay < pace.most; ++i) {
    delay *= 2;
  }
  delay = std::min(delay, pace.most);
  // Up to a quarter more, so that keys that failed together do not come back together.
  delay += delay / 4000 * static_cast<int>(options.entropy->next() % 1000);
  if (at_least && *at_least > Duration::zero()) {
    // The server knows when it has time again: failures of other kinds before this one make a
    // second of overload no wait of minutes.
    constexpr Duration kPatience = std::chrono::seconds(30);
    delay = std::clamp(delay, *at_least, std::max(*at_least, kPatience));
  }
  ++task.failures;
  const Instant again = now + delay;
  task.again = task.again ? std::min(*task.again, again) : again;
  task.again_cause = *task.again == again ? Cause::Retry : task.again_cause;
  metrics.retried(task.controller->number);
}

void Engine::Impl::finish(Task& task, Instant now) {
  if (task.work->plan.error()) {
    log::debug("plan ends with an error", {{"controller", task.controller->op->name},
                                           {"key", task.key.text()},
                                           {"error", task.work->plan.error()->message}});
  }
  if (task.work->plan.retries()) {
    back_off(task, now, std::nullopt);
    over(task, ReconcileResult::Requeue, &*task.work->plan.error(), now);
  } else {
    task.failures = 0;
    over(task,
         task.work->plan.error()  ? ReconcileResult::Failure
         : task.work->plan.wake() ? ReconcileResult::RequeueAfter
                                  : ReconcileResult::Success,
         task.work->plan.error() ? &*task.work->plan.error() : nullptr, now);
  }
  rest(task, now);
}

// One reconcile is over, the writes of its plan included.
void Engine::Impl::over(Task& task, ReconcileResult result, const Error* error, Instant now) {
  const Duration took = std::max(now - task.started, Duration::zero());
  metrics.finished(task.controller->number, result, took);
  if (board.active()) {
    board.happened(Reconciled{.op = task.controller->op->name,
                              .took = took,
                              .code = error == nullptr ? 0 : error->code},
                   now);
  }
  task.error = error == nullptr ? nullptr : std::make_unique<const std::string>(error->message);
  if (options.tracer != nullptr) {
    options.tracer->ended(task.id, name_of(result), error == nullptr ? "" : error->message);
  }
}

void Engine::Impl::tell_answer(const Task& task, int code, Instant now) {
  if (board.active()) {
    const Step& step = task.work->plan.steps()[task.work->step];
    board.happened(WriteAnswered{.op = task.controller->op->name,
                                 .step = name_of(step),
                                 .kind = *target_of(step)->kind,
                                 .code = code},
                   now);
  }
}

// A key whose object is gone may still clean up behind it, once it knows what there is.
bool Engine::Impl::awaits_answer(const Task& task) const {
  const Reads* done = reads.of(task.id);
  return done != nullptr &&
         std::any_of(done->observations.begin(), done->observations.end(), [&](const auto& read) {
           const auto known = observations.find(read.first);
           return known != observations.end() && known->second.in_flight;
         });
}

// The plan is over. Once the caches show what it did the key may run again: at once when something
// changed meanwhile, else when it asked to.
void Engine::Impl::rest(Task& task, Instant now) {
  if (barrier.waits(task.id)) {
    if (task.phase != Task::Phase::Waiting) {
      task.phase = Task::Phase::Waiting;
      task.waits_since = now;
      task.barrier_end = now + options.barrier_timeout;
      deadlines.emplace(task.barrier_end, task.id);
    }
    return;
  }
  if (task.phase == Task::Phase::Waiting) {
    deadlines.erase({task.barrier_end, task.id});
    no_longer_overdue(task);
  }
  const bool did_nothing = task.work == nullptr || task.work->plan.steps().empty();
  task.phase = Task::Phase::Idle;
  task.work.reset();
  if (task.dirty) {
    make_ready(task, task.dirty_priority, now, task.dirty_cause);
    task.dirty = false;
    return;
  }
  if (task.again) {
    ready.sleep(task.id, *task.again);
    return;
  }
  if (is_blank(task, did_nothing)) {
    forget(task);
  }
}

// Whether the next event would find nothing in it: a key at rest that no other object's change
// concerns, or one whose object is gone. Of a cache of 100,000 objects most are the former.
bool Engine::Impl::is_blank(const Task& task, bool did_nothing) const {
  const Operator& op = *task.controller->op;
  if (op.singleton || task.failures > 0) {
    return false;
  }
  if (reads.of(task.id) == nullptr && op.pause == Duration::zero()) {
    return true;
  }
  return did_nothing && find_cache(*op.primary)->find(task.key) == nullptr && !awaits_answer(task);
}

}  // namespace athanor::runtime
