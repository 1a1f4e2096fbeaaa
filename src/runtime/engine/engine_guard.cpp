// SPDX-License-Identifier: Apache-2.0
// What a broken invariant costs: the key at hand, or the input, never the process
// (base/contain.hpp).
#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "runtime/engine/engine_impl.hpp"
#include "runtime/engine/tracer.hpp"
#include "runtime/view/access.hpp"

namespace athanor::runtime {

namespace {

// As equal as their texts would be: members in the same order, numbers of one type.
bool reads_alike(const Value& a, const Value& b) {
  if (a.identical(b)) {
    return true;
  }
  if (a.type() != b.type()) {
    return false;
  }
  return std::ranges::equal(a.items(), b.items(), reads_alike) &&
         std::ranges::equal(a.members(), b.members(),
                            [](const Member& left, const Member& right) {
                              return left.key() == right.key() &&
                                     reads_alike(left.value, right.value);
                            }) &&
         (a.is_list() || a.is_object() || a == b);
}

// Most plans say nothing at all.
bool same_plan(const Plan& a, const Plan& b) {
  if (a.steps().empty() && b.steps().empty() && !a.error() && !b.error()) {
    return a.wake() == b.wake();
  }
  return reads_alike(a.to_value(), b.to_value());
}

// "create Pod a/p, status Pod a/p": without contents, which may be secret.
std::string summary_of(const Plan& plan) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.steps().size(), kMost); ++i) {
    const Step& step = plan.steps()[i];
    text += text.empty() ? "" : ", ";
    text += name_of(step);
    if (const Ref* target = target_of(step)) {
      text += ' ';
      text += target->kind->name;
      text += ' ';
      text += target->key.text();
    }
  }
  return plan.steps().size() > kMost ? text + ", ..." : text;
}

std::string_view name_of(const Input& input) {
  constexpr std::string_view kNames[] = {"watch event", "list",       "answer to a write",
                                         "observation", "timer tick", "step of the clock"};
  return kNames[input.index()];
}

}  // namespace

bool Engine::Impl::overlooks(const Operator& op, const Kind& kind, const Cache::Change& change) {
  if (op.overlooks == nullptr || !change.before || !change.after) {
    return false;
  }
  bool overlooked = false;
  const auto broken =
      contain([&] { overlooked = op.overlooks(kind, *change.before, *change.after); });
  if (broken) {
    tell_broken(op.name, change.after->key().text(), *broken, nullptr);
  }
  return !broken && overlooked;
}

Plan Engine::Impl::make_plan(const Task& task, Reads& done, Instant now) {
  const Operator& op = *task.controller->op;
  Plan plan;
  bool read_well = false;
  const auto broken = contain([&] {
    plan = op.reconcile(View(*this, done), task.key, now);
    if (options.verify) {
      Reads again;
      derive_anew = true;
      const Plan second = op.reconcile(View(*this, again), task.key, now);
      derive_anew = false;
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
  derive_anew = false;
  tell_broken(op.name, task.key.text(), *broken, &plan);
  if (!read_well) {
    // A list may be what is broken: it would break again at each change of its kind.
    std::erase_if(done.objects, [&](const Ref& ref) { return !may_read(op, ref.kind); });
    done.lists.clear();
  }
  return Plan::retry(Error{.code = 500, .reason = "BrokenInvariant", .message = *broken});
}

void Engine::Impl::abandon(TaskId id, const std::string& what, Instant now) {
  derive_anew = false;
  Task* task = find(id);
  if (task == nullptr) {
    tell_broken("engine", "", what, nullptr);
    return;
  }
  tell_broken(task->controller->op->name, task->key.text(), what,
              task->work == nullptr ? nullptr : &task->work->plan);
  std::set<Watched, WatchedOrder> touched;
  if (task->work != nullptr) {
    const Work& work = *task->work;
    writes.erase(work.write);
    for (std::size_t i = 0; i < work.plan.steps().size() && i <= work.step; ++i) {
      const Ref* target = target_of(work.plan.steps()[i]);
      if (const Cache* held = target == nullptr ? nullptr : watching(*target)) {
        touched.insert({target->kind, held->watch_of(target->key.ns)});
      }
    }
  }
  const Error error{.code = 500, .reason = "BrokenInvariant", .message = what};
  if (task->phase == Task::Phase::Waiting) {
    deadlines.erase({task->barrier_end, id});
    no_longer_overdue(*task);
  } else {
    over(*task, ReconcileResult::Failure, &error, now);
  }
  barrier.drop(id);
  ready.cancel(id);
  for (const Watched& watch : touched) {
    out.emplace_back(Relist{.kind = watch.kind, .ns = watch.ns});
    barrier.wait_relist(id, watch);
  }
  task->work.reset();
  task->phase = Task::Phase::Idle;
  task->dirty = false;
  task->again.reset();
  back_off(*task, now, std::nullopt);
  rest(*task, now);
}

void Engine::Impl::absorb(const Input& input, Instant now) {
  const auto* result = std::get_if<WriteResult>(&input);
  const auto write = result == nullptr ? writes.end() : writes.find(result->id);
  const TaskId writer = write == writes.end() ? TaskId{0} : write->second;
  const std::uint64_t before = contained_failures();
  const auto broken = contain([&] { std::visit([&](const auto& one) { take(one, now); }, input); });
  // Functions of operators that caches call are contained one by one.
  metrics.broke("caches", contained_failures() - before - (broken ? 1 : 0));
  if (!broken) {
    return;
  }
  if (writer != 0) {
    abandon(writer, *broken, now);
    return;
  }
  tell_broken("engine", std::string(name_of(input)), *broken, nullptr);
  const auto* event = std::get_if<WatchEvent>(&input);
  if (const Cache* held = event == nullptr ? nullptr : find_cache(*event->kind)) {
    out.emplace_back(Relist{.kind = event->kind, .ns = held->watch_of(event->object.ns())});
  }
}

void Engine::Impl::tell_broken(std::string_view controller, const std::string& key,
                               const std::string& what, const Plan* plan) {
  metrics.broke(controller, 1);
  log::error("a broken invariant costs a key",
             {{"controller", controller},
              {"key", key},
              {"what", what},
              {"time", format_micro_time(latest)},
              {"steps", plan == nullptr ? std::string() : summary_of(*plan)}});
}

}  // namespace athanor::runtime
