// SPDX-License-Identifier: Apache-2.0
// A plan and its steps. What becomes of them: plan_results.cpp.
#include "runtime/engine/plans/plan_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <variant>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "runtime/engine/model/tracer.hpp"
#include "runtime/rights/access.hpp"

namespace athanor::runtime {

namespace {

// Adds the targets of a plan's steps to what it depends on: a step is left out because of what the
// cache holds of its target.
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

// Returns true for steps without a write of their own: they run once the write before is answered.
bool follows_a_write(const Step& step) {
  return std::holds_alternative<Emit>(step) || std::holds_alternative<Act>(step);
}

// Returns the version of its target that a request requires; 0: none.
std::uint64_t required_version(const WriteRequest& request) {
  const std::string_view part = request.verb == WriteVerb::Delete ? "preconditions" : "metadata";
  return version_number(request.body[part]["resourceVersion"].as_string());
}

// Returns true if two values have equal texts: members in the same order, numbers of one type.
bool equal_texts(const Value& a, const Value& b) {
  if (a.identical(b)) {
    return true;
  }
  if (a.type() != b.type()) {
    return false;
  }
  return std::ranges::equal(a.items(), b.items(), equal_texts) &&
         std::ranges::equal(a.members(), b.members(),
                            [](const Member& left, const Member& right) {
                              return left.key() == right.key() &&
                                     equal_texts(left.value, right.value);
                            }) &&
         (a.is_list() || a.is_object() || a == b);
}

// Returns true if two plans do the same. Compares plans without steps first: most are.
bool same_plan(const Plan& a, const Plan& b) {
  if (a.steps().empty() && b.steps().empty() && !a.error() && !b.error()) {
    return a.wake() == b.wake();
  }
  return equal_texts(a.to_value(), b.to_value());
}

// `is_first`: no Event of this text is there yet.
void log_event(const Operator& op, const Emit& step, bool is_first) {
  const bool is_warning = step.type == "Warning";
  if (!op.log_subject.empty() && step.about.kind == op.primary) {
    log::write_always(
        is_warning ? log::Level::Warn : log::Level::Info,
        fmt::format("{} {}: {}: {}", op.log_subject, step.about.key.name, step.reason, step.note),
        {{"controller", op.name}, {"namespace", step.about.key.ns}});
  } else if (is_warning && is_first) {
    log::warn("a warning about an object", {{"controller", op.name},
                                            {"kind", step.about.kind->name},
                                            {"key", step.about.key.text()},
                                            {"reason", step.reason},
                                            {"message", step.note}});
  }
}

}  // namespace

void PlanRunner::reconcile(Task& task, Instant since, Instant now) {
  const Operator& op = *task.controller->op;
  const Instant started =
      core_.options.stopwatch != nullptr ? core_.options.stopwatch->now() : Instant{};
  if (core_.options.tracer != nullptr) {
    core_.options.tracer->began(task.id, op.name, task.key, task.cause, now - since);
  }
  Reads done;
  Plan plan = make_plan(task, done, now);
  if (core_.options.stopwatch != nullptr) {
    core_.metrics.took(task.controller->number, core_.options.stopwatch->now() - started);
  }
  core_.metrics.started(task.controller->number, now - since,
                        done.objects.size() + done.lists.size());
  if (core_.options.on_reconcile) {
    core_.options.on_reconcile(op, task.key, done.objects.size() + done.lists.size(), plan);
  }
  add_targets(done, plan);
  // Answers that only a key of a deleted object has read are dropped.
  const bool gone = !op.singleton && core_.world.cache(*op.primary).find(task.key) == nullptr;
  const std::vector<std::string> queries =
      gone ? core_.observed_by(task) : std::vector<std::string>();
  if (!op.singleton) {
    std::erase(done.objects, Ref{op.primary, task.key});  // its changes queue the key anyway
  }
  const auto observed = done.observations;
  core_.reads.set(task.id, std::move(done), task.controller->number);
  core_.observations.drop_unread(queries);
  core_.observations.probe_stale(observed, now, core_.out);
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

Plan PlanRunner::make_plan(const Task& task, Reads& done, Instant now) {
  const Operator& op = *task.controller->op;
  Plan plan;
  bool read_well = false;
  const auto broken = contain([&] {
    plan = op.reconcile(View(core_.world, done), task.key, now);
    if (core_.options.verify) {
      Reads again;
      core_.world.derive_anew(true);
      const Plan second = op.reconcile(View(core_.world, again), task.key, now);
      core_.world.derive_anew(false);
      ATHANOR_CHECK(same_plan(plan, second), "reconcile is a function of what it reads");
    }
    const std::string read = undeclared_read(op, done);
    ATHANOR_CHECK(read.empty(), ("an operator reads what it declared, not: " + read).c_str());
    read_well = true;
    const std::string step = undeclared_step(op, plan);
    ATHANOR_CHECK(step.empty(), ("an operator does what it declared, not: " + step).c_str());
  });
  if (!broken) {
    return plan;
  }
  core_.world.derive_anew(false);
  core_.report_broken(op.name, task.key.text(), *broken, &plan);
  if (!read_well) {
    // A list may be what is broken: it would break again at each change of its kind.
    std::erase_if(done.objects, [&](const Ref& ref) { return !may_read(op, ref.kind); });
    done.lists.clear();
  }
  return Plan::retry(Error{.code = 500, .reason = "BrokenInvariant", .message = *broken});
}

void PlanRunner::remember_seen(Work& work) const {
  const std::vector<Step>& steps = work.plan.steps();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto* status = std::get_if<Status>(&steps[i]);
    const Cache* held = status == nullptr ? nullptr : core_.world.watching(status->target);
    const Object* object = held == nullptr ? nullptr : held->find(status->target.key);
    if (object != nullptr) {
      work.seen.try_emplace(status->target, *object);
    }
  }
}

Known PlanRunner::known(const Task& task, const Ref& ref) const {
  const Cache* held = core_.world.watching(ref);
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

Outcome PlanRunner::outcome(Task& task, const Step& step) {
  if (const auto* apply = std::get_if<Apply>(&step)) {
    Apply named = *apply;
    if (named.manager.empty()) {
      named.manager = task.controller->op->name;
    }
    const auto last = last_applied_.find({named.target, named.manager});
    return resolve(named, known(task, named.target),
                   last == last_applied_.end() ? nullptr : &last->second);
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

void PlanRunner::advance(Task& task, Instant now) {
  Work& work = *task.work;
  const std::vector<Step>& steps = work.plan.steps();
  while (!work.failure && may_send(task)) {
    work.step = run_followers(task, work.step, now);
    if (work.step >= std::min(steps.size(), core_.options.steps_per_plan)) {
      break;
    }
    const Step& step = steps[work.step];
    if (is_being_written(work, step)) {
      return;
    }
    Outcome next = outcome(task, step);
    if (auto* request = std::get_if<WriteRequest>(&next)) {
      if (const auto until = held_until(task, *request, now)) {
        put_off(task, *until);
      } else {
        send(task, std::move(*request));
      }
      continue;
    }
    if (const auto* error = std::get_if<Error>(&next)) {
      if (!failed(task, step, *error, {}, now)) {
        break;
      }
    } else {
      core_.metrics.suppressed(task.controller->number);
    }
    ++work.step;
  }
  if (!work.writes.empty()) {
    return;
  }
  if (work.failure) {
    give_up(task, now);
  } else {
    finish(task, now);
  }
}

std::size_t PlanRunner::run_followers(Task& task, std::size_t step, Instant now) {
  const std::vector<Step>& steps = task.work->plan.steps();
  for (; step < steps.size() && follows_a_write(steps[step]); ++step) {
    if (const auto* event = std::get_if<Emit>(&steps[step])) {
      emit(task, *event, now);
    } else {
      act(std::get<Act>(steps[step]), now);
    }
  }
  return step;
}

bool PlanRunner::may_send(const Task& task) const {
  return task.work->writes.size() <
         (task.controller->op->independent_steps ? core_.options.writes_per_plan : 1);
}

bool PlanRunner::is_being_written(const Work& work, const Step& step) {
  return std::ranges::any_of(work.writes, [&](const auto& write) {
    return *target_of(work.plan.steps()[write.second.step]) == *target_of(step);
  });
}

void PlanRunner::send(Task& task, WriteRequest request) {
  request.user = task.controller->user;
  if (request.manager.empty()) {
    request.manager = task.controller->op->name;
  }
  const std::uint64_t id = ++last_write_;
  writes_.emplace(id, task.id);
  Work& work = *task.work;
  const Known target = known(task, request.target);
  work.writes.emplace(
      id,
      Sent{.step = work.step,
           .request = request,
           .known = version_of(target.newest),
           .required = required_version(request),
           .cached = version_of(target.cached),
           .uid = target.newest == nullptr ? std::string() : std::string(target.newest->uid())});
  pass_step(work);
  core_.metrics.wrote(task.controller->number);
  if (core_.options.tracer != nullptr) {
    core_.options.tracer->sent(task.id, id, request);
  }
  core_.out.emplace_back(SendWrite{.id = id,
                                   .op = task.controller->op->name,
                                   .request = std::move(request),
                                   .urgent = task.controller->op->singleton});
}

void PlanRunner::pass_step(Work& work) {
  const std::vector<Step>& steps = work.plan.steps();
  do {
    ++work.step;
  } while (work.step < steps.size() && follows_a_write(steps[work.step]));
}

void PlanRunner::emit(Task& task, const Emit& step, Instant now) {
  if (!core_.options.events || (!step.id.empty() && !acts_.insert("event:" + step.id))) {
    return;
  }
  std::string uid = step.about_uid;
  if (uid.empty()) {
    const Known about = known(task, step.about);
    uid = about.newest == nullptr ? std::string() : std::string(about.newest->uid());
  }
  const Operator& op = *task.controller->op;
  WriteRequest request = events_.record(
      step, uid,
      {.component = op.event_source.empty() ? op.name : op.event_source, .manager = op.name}, now);
  // Only with a wall clock: the simulator has no reader of logs.
  if (core_.options.stopwatch != nullptr) {
    log_event(op, step, request.verb == WriteVerb::Create);
  }
  request.user = task.controller->user;
  const std::uint64_t id = ++last_write_;
  event_writes_.emplace(id, request.target.key);
  if (core_.options.tracer != nullptr) {
    core_.options.tracer->sent(task.id, id, request);
  }
  core_.out.emplace_back(
      SendWrite{.id = id, .op = task.controller->op->name, .request = std::move(request)});
}

void PlanRunner::act(const Act& step, Instant) {
  std::string query = step.verb + ":" + step.id;
  if (!acts_.insert(query)) {
    return;
  }
  core_.observations.entry(query).in_flight = true;
  core_.out.emplace_back(Execute{.id = step.id, .verb = step.verb, .args = step.args});
}

}  // namespace athanor::runtime
