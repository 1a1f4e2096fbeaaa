// SPDX-License-Identifier: Apache-2.0
// Results of a plan's steps, and the next run of its key.
#include <algorithm>
#include <memory>
#include <set>
#include <variant>

#include "base/check.hpp"
#include "base/log.hpp"
#include "runtime/engine/model/tracer.hpp"
#include "runtime/engine/plans/plan_runner.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

// Returns true if an event about the cached target follows an answer without a version that is new
// to the watch: after an immediate deletion, a binding.
bool is_to_follow(const Step& step, const Object& cached, const Sent& sent,
                  const WriteResult& result) {
  if (std::holds_alternative<Delete>(step)) {
    // Where finalizers or grace hold the object the answer is the object, in the version of its
    // mark; that has been seen. A namesake is another object.
    const bool stays = result.object && result.object->deleting();
    return !stays && (sent.uid.empty() || sent.uid == cached.uid());
  }
  const auto* replace = std::get_if<Replace>(&step);
  return replace != nullptr && replace->subresource == "binding" &&
         cached.spec()["nodeName"].as_string().empty();
}

// Returns true if the cache shows a newer state of the target than the failed step was made from:
// there is no event to wait for. What is not found is gone until a namesake shows.
bool is_newer(const Object* cached, const Sent& sent, const Error& error) {
  if (error.code == 404) {
    return cached != nullptr && !sent.uid.empty() && sent.uid != cached->uid();
  }
  if (error.code != 409) {
    return false;
  }
  if (sent.required > 0) {
    return cached == nullptr || version_of(cached) > sent.required;
  }
  return version_of(cached) != sent.cached;
}

}  // namespace

void PlanRunner::take(const WriteResult& result, Instant now) {
  if (core_.options.tracer != nullptr) {
    core_.options.tracer->answered(result);
  }
  if (const auto event = event_writes_.find(result.id); event != event_writes_.end()) {
    if (result.error) {
      events_.forget(event->second);
    }
    event_writes_.erase(event);
    return;
  }
  const auto at = writes_.find(result.id);
  if (at == writes_.end()) {
    return;
  }
  Task* task = core_.keys.find(at->second);
  writes_.erase(at);
  ATHANOR_CHECK(task != nullptr && task->phase == Task::Phase::Writing,
                "a key with a write in flight waits for it");
  const Sent sent = task->work->writes.extract(result.id).mapped();
  const Step& step = task->work->plan.steps()[sent.step];
  show_answer(*task, step, result.error ? result.error->code : result.unknown ? 503 : 0, now);
  bool done = true;
  if (result.error || result.unknown) {
    const Error error = result.error.value_or(Error::unavailable("no answer to a write"));
    done = failed(*task, step, error, {.result = &result, .sent = &sent}, now);
  } else {
    written(*task, sent, result, now);
  }
  if (done) {
    run_followers(*task, sent.step + 1, now);
  }
  advance(*task, now);
}

void PlanRunner::written(Task& task, const Sent& sent, const WriteResult& result, Instant now) {
  const Step& step = task.work->plan.steps()[sent.step];
  // The query costs a digest of the step: not for the many writes of a world without refusals.
  if (core_.observations.any("refused:")) {
    if (const std::string refusal = refusal_query(step); core_.observations.contains(refusal)) {
      core_.report(refusal, std::nullopt, now);
    }
  }
  const Ref& ref = *target_of(step);
  if (task.failures >= kContested) {
    core_.report(contested_query(ref), std::nullopt, now);
  }
  const Cache* held = core_.world.watching(ref);
  const bool is_object = result.object && result.object->kind() == ref.kind->name;
  if (const auto* apply = std::get_if<Apply>(&step)) {
    const std::string manager =
        apply->manager.empty() ? std::string(task.controller->op->name) : apply->manager;
    last_applied_.insert_or_assign({ref, manager}, apply->fields);
  }
  const Object* cached = held == nullptr ? nullptr : held->find(ref.key);
  // A Scale has the version of its object.
  const std::uint64_t version = result.object ? version_of(&*result.object) : 0;
  // A write that changed nothing returns a version that has been seen: no event will follow. Nor
  // does one about an object that a selector hides before and after.
  const std::string ns(is_object ? result.object->ns() : std::string_view(ref.key.ns));
  if (held != nullptr && held->version(ns) < version) {
    if (!result.hidden || cached != nullptr) {
      core_.barrier.wait_version(task.id, {ref.kind, held->watch_of(ns)}, version);
    }
  } else if (cached != nullptr && is_to_follow(step, *cached, sent, result)) {
    core_.barrier.wait_change(task.id, ref, version_of(cached));
  }
  if (!is_object || std::holds_alternative<Delete>(step)) {
    task.work->written.erase(ref);
    return;
  }
  if (const auto seen = task.work->seen.find(ref);
      seen != task.work->seen.end() && std::holds_alternative<Status>(step)) {
    seen->second = *result.object;
  }
  note_loop(task, sent, *result.object, now);
  core_.observations.take_written(*ref.kind, *result.object, now);
  task.work->written.insert_or_assign(Ref{ref.kind, result.object->key()}, *result.object);
}

bool PlanRunner::failed(Task& task, const Step& step, const Error& error, const Answer& answer,
                        Instant now) {
  const WriteResult* result = answer.result;
  const Ref& ref = *target_of(step);
  core_.metrics.failed(task.controller->number, error.code);
  log::debug("step failed", {{"controller", task.controller->op->name},
                             {"key", task.key.text()},
                             {"step", name_of(step)},
                             {"trace_id", core_.options.tracer == nullptr
                                              ? std::string()
                                              : core_.options.tracer->trace_id(task.id)},
                             {"error", error.message}});
  const Cache* held = core_.world.watching(ref);
  const Object* cached = held == nullptr ? nullptr : held->find(ref.key);
  const std::uint64_t in_cache = version_of(cached);
  const Sent sent = answer.sent == nullptr ? Sent{.cached = in_cache} : *answer.sent;
  const bool has_moved = is_newer(cached, sent, error);
  const Failure failure{
      .error = error,
      .answered = result != nullptr,
      .unknown = result != nullptr && result->unknown,
      .creates = std::holds_alternative<Create>(step) || std::holds_alternative<Apply>(step),
      .deletes = std::holds_alternative<Delete>(step),
      .is_watched = held != nullptr,
      .is_hidden = result != nullptr && result->hidden,
      .is_cached = cached != nullptr,
      .has_version = sent.required > 0,
      .has_moved = has_moved,
      .other_object = names_another_object(error, step, cached),
      .elsewhere = speaks_of_another(error, ref),
      .changed_since = task.dirty,
      .failures = task.failures};
  const Reaction reaction = classify(failure);
  if (reaction.again == Again::Continue) {
    return true;
  }
  await(task, ref, reaction.await, std::max(in_cache, sent.required));
  if (reaction.is_conflict && task.failures >= kContested &&
      core_.reads.is_observed(contested_query(ref))) {
    core_.report(contested_query(ref), error, now);
  }
  const bool news = reaction.is_final_refusal && report_refusal(step, error, now);
  tell_refusal(task, step, failure, now);
  const bool at_once = (news ? reaction.again_on_news : reaction.again) == Again::AtOnce;
  // The longest wait of several failures counts.
  std::optional<PlanFailure>& kept = task.work->failure;
  const std::optional<Duration> retry_after =
      result == nullptr ? std::nullopt : result->retry_after;
  if (!kept || (kept->at_once && !at_once) ||
      (kept->at_once == at_once && kept->retry_after < retry_after)) {
    kept = PlanFailure{
        .error = error, .at_once = at_once, .is_news = news, .retry_after = retry_after};
  }
  return false;
}

void PlanRunner::give_up(Task& task, Instant now) {
  const PlanFailure failure = std::move(*task.work->failure);
  if (failure.held_until) {
    over(task, ReconcileResult::RequeueAfter, &failure.error, now);
    release(task, now);
    return;
  }
  over(task, ReconcileResult::Failure, &failure.error, now);
  if (failure.at_once) {
    ++task.failures;
    core_.keys.queue(task, Priority::Interactive, now,
                     failure.is_news ? Cause::Continued : Cause::Retry);
  } else {
    task.failures += failure.is_news ? 1 : 0;
    back_off(task, now, failure.retry_after, failure.error.code >= 500);
  }
  release(task, now);
}

void PlanRunner::await(Task& task, const Ref& ref, Await what, std::uint64_t after) {
  if (what == Await::Change) {
    core_.barrier.wait_change(task.id, ref, after);
  } else if (what == Await::Relist) {
    const std::string ns = core_.world.cache(*ref.kind).watch_of(ref.key.ns);
    core_.barrier.wait_relist(task.id, {ref.kind, ns});
    core_.out.emplace_back(Relist{.kind = ref.kind, .ns = ns});
  }
}

bool PlanRunner::report_refusal(const Step& step, const Error& error, Instant now) {
  const std::string any = refusals_query(step);
  if (!core_.reads.is_observed(any)) {
    return false;
  }
  const bool news = core_.report(refusal_query(step), error, now);
  core_.report(any, error, now);
  return news;
}

void PlanRunner::back_off(Task& task, Instant now, std::optional<Duration> at_least, bool soon) {
  const Backoff& pace = task.controller->op->backoff;
  Duration delay = pace.first;
  for (int i = 0; i < task.failures && delay < pace.most; ++i) {
    delay *= 2;
  }
  delay = std::min(delay, pace.most);
  if (soon) {
    // A webhook that is down, or a store: it passes without a word to us, and who waits for the key
    // should not wait for minutes more. With its jitter less than ten seconds.
    constexpr Duration kOutage = std::chrono::milliseconds(7500);
    delay = std::min(delay, kOutage);
  }
  // Up to a quarter more, so that keys that failed together do not come back together.
  delay += delay / 4000 * static_cast<int>(core_.options.entropy->next() % 1000);
  if (at_least && *at_least > Duration::zero()) {
    // The server says when it has capacity again: earlier failures of other kinds must not turn a
    // second of overload into minutes.
    constexpr Duration kPatience = std::chrono::seconds(30);
    delay = std::clamp(delay, *at_least, std::max(*at_least, kPatience));
  }
  ++task.failures;
  const Instant again = now + delay;
  task.again = task.again ? std::min(*task.again, again) : again;
  task.again_cause = *task.again == again ? Cause::Retry : task.again_cause;
  core_.metrics.retried(task.controller->number);
}

void PlanRunner::finish(Task& task, Instant now) {
  if (task.work->plan.error()) {
    log::debug("plan ends with an error", {{"controller", task.controller->op->name},
                                           {"key", task.key.text()},
                                           {"error", task.work->plan.error()->message}});
  }
  if (task.work->plan.steps().size() >= core_.options.steps_per_plan) {
    core_.keys.queue(task, Priority::Interactive, now, Cause::Continued);
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
  release(task, now);
}

void PlanRunner::over(Task& task, ReconcileResult result, const Error* error, Instant now) {
  const Duration took = std::max(now - task.started, Duration::zero());
  core_.metrics.finished(task.controller->number, result, took);
  if (core_.board.active()) {
    core_.board.happened(Reconciled{.op = task.controller->op->name,
                                    .took = took,
                                    .code = error == nullptr ? 0 : error->code},
                         now);
  }
  task.error = error == nullptr ? nullptr : std::make_unique<const std::string>(error->message);
  if (core_.options.tracer != nullptr) {
    core_.options.tracer->ended(task.id, name_of(result), error == nullptr ? "" : error->message);
  }
}

void PlanRunner::show_answer(const Task& task, const Step& step, int code, Instant now) {
  if (core_.board.active()) {
    core_.board.happened(WriteAnswered{.op = task.controller->op->name,
                                       .step = name_of(step),
                                       .kind = *target_of(step)->kind,
                                       .code = code},
                         now);
  }
}

bool PlanRunner::awaits_answer(const Task& task) const {
  const Reads* done = core_.reads.of(task.id);
  return done != nullptr &&
         std::any_of(done->observations.begin(), done->observations.end(), [&](const auto& read) {
           const Observed* known = core_.observations.find(read.first);
           return known != nullptr && known->in_flight;
         });
}

void PlanRunner::release(Task& task, Instant now) {
  if (core_.barrier.waits(task.id)) {
    core_.start_wait(task, now);
    return;
  }
  if (task.phase == Task::Phase::Waiting) {
    core_.end_wait(task);
  }
  const bool did_nothing = task.work == nullptr || task.work->plan.steps().empty();
  task.phase = Task::Phase::Idle;
  task.work.reset();
  if (task.dirty) {
    core_.keys.make_ready(task, task.dirty_priority, now, task.dirty_cause);
    task.dirty = false;
    return;
  }
  if (task.again) {
    core_.keys.sleep(task, *task.again);
    return;
  }
  if (is_blank(task, did_nothing)) {
    core_.forget(task);
  }
}

bool PlanRunner::is_blank(const Task& task, bool did_nothing) const {
  const Operator& op = *task.controller->op;
  if (op.singleton || task.failures > 0) {
    return false;
  }
  if (core_.reads.of(task.id) == nullptr && op.pause == Duration::zero()) {
    return true;
  }
  return did_nothing && core_.world.find(*op.primary)->find(task.key) == nullptr &&
         !awaits_answer(task);
}

void PlanRunner::abandon(TaskId id, const std::string& what, Instant now) {
  core_.world.derive_anew(false);
  Task* task = core_.keys.find(id);
  if (task == nullptr) {
    core_.report_broken("engine", "", what, nullptr);
    return;
  }
  core_.report_broken(task->controller->op->name, task->key.text(), what,
                      task->work == nullptr ? nullptr : &task->work->plan);
  std::set<Watched, WatchedOrder> touched;
  if (task->work != nullptr) {
    const Work& work = *task->work;
    for (const auto& [write, sent] : work.writes) {
      writes_.erase(write);
    }
    for (std::size_t i = 0; i < work.plan.steps().size() && i <= work.step; ++i) {
      const Ref* target = target_of(work.plan.steps()[i]);
      if (const Cache* held = target == nullptr ? nullptr : core_.world.watching(*target)) {
        touched.insert({target->kind, held->watch_of(target->key.ns)});
      }
    }
  }
  const Error error{.code = 500, .reason = "BrokenInvariant", .message = what};
  if (task->phase == Task::Phase::Waiting) {
    core_.end_wait(*task);
  } else {
    over(*task, ReconcileResult::Failure, &error, now);
  }
  core_.barrier.drop(id);
  core_.keys.cancel(id);
  for (const Watched& watch : touched) {
    core_.out.emplace_back(Relist{.kind = watch.kind, .ns = watch.ns});
    core_.barrier.wait_relist(id, watch);
  }
  task->work.reset();
  task->phase = Task::Phase::Idle;
  task->dirty = false;
  task->again.reset();
  back_off(*task, now, std::nullopt);
  release(*task, now);
}

void PlanRunner::forget_applied(const Ref& ref) {
  for (auto at = last_applied_.lower_bound({ref, ""});
       at != last_applied_.end() && at->first.first == ref;) {
    at = last_applied_.erase(at);
  }
}

TaskId PlanRunner::writer(std::uint64_t write) const {
  const auto at = writes_.find(write);
  return at == writes_.end() ? TaskId{0} : at->second;
}

}  // namespace athanor::runtime
