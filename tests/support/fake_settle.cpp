// SPDX-License-Identifier: Apache-2.0
// FakeWorld running controllers: declared reads and writes, tracked reads, virtual time.
#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "kube/text/json.hpp"
#include "runtime/rights/access.hpp"
#include "runtime/view/select.hpp"
#include "runtime/view/step.hpp"
#include "support/fake_world.hpp"

namespace athanor::test {

bool FakeWorld::TaskOrder::operator()(const Task& a, const Task& b) const {
  return a.op != b.op ? a.op->name < b.op->name : a.key < b.key;
}

void FakeWorld::check_declared(const Operator& op, const Plan& plan) const {
  EXPECT_EQ(undeclared_read(op, last_reads_), "") << op.name << " reads it without declaring it";
  EXPECT_EQ(undeclared_live_read(op, last_reads_), "")
      << op.name << " reads it live without declaring it";
  EXPECT_EQ(undeclared_owner(op, plan), "") << op.name << " needs it for an owner reference";
  EXPECT_EQ(undeclared_step(op, plan), "") << op.name << " does it without declaring it";
}

void FakeWorld::adopt(const Operator& op) {
  if (adopted_.insert(&op).second) {
    operators_.push_back(&op);
    indexes_.insert(indexes_.end(), op.indexes.begin(), op.indexes.end());
  }
}

Plan FakeWorld::reconcile(const Operator& op, const Key& key) {
  adopt(op);
  last_reads_ = {};
  Plan plan = op.reconcile(View(*this, last_reads_), key, now);
  Reads again;
  const Plan second = op.reconcile(View(*this, again), key, now);
  EXPECT_EQ(json::print(plan.to_value()), json::print(second.to_value()))
      << op.name << " " << key.text() << ": not a function of what it reads";
  check_declared(op, plan);
  return plan;
}

bool FakeWorld::in_list(const Change& change, const Kind& kind) {
  return std::get<0>(change.id) == kind.group && std::get<1>(change.id) == kind.name;
}

bool FakeWorld::touches(const Operator& op, const Key& key, const TaskState& state,
                        const Change& change) const {
  const auto& [group, name, ns, object_name] = change.id;
  if (!op.singleton && in_list(change, *op.primary) && key.ns == ns && key.name == object_name) {
    return true;
  }
  for (const Ref& ref : state.reads.objects) {
    if (in_list(change, *ref.kind) && ref.key.ns == ns && ref.key.name == object_name) {
      return true;
    }
  }
  return std::any_of(
      state.reads.lists.begin(), state.reads.lists.end(), [&](const Reads::ListRead& read) {
        return in_list(change, *read.kind) &&
               ((change.before && selects(*read.kind, read.select, *change.before, indexes_)) ||
                (change.after && selects(*read.kind, read.select, *change.after, indexes_)));
      });
}

void FakeWorld::queue_readers() {
  for (const Change& change : changes_) {
    for (const Operator* op : operators_) {
      if (!op->singleton && in_list(change, *op->primary)) {
        queue_.insert({op, {std::get<2>(change.id), std::get<3>(change.id)}});
      }
    }
    for (const auto& [task, state] : tasks_) {
      if (touches(*task.op, task.key, state, change)) {
        queue_.insert(task);
      }
    }
  }
  for (const auto& [task, state] : tasks_) {
    const bool asked = std::any_of(
        state.reads.observations.begin(), state.reads.observations.end(), [&](const auto& read) {
          return std::find(changed_queries_.begin(), changed_queries_.end(), read.first) !=
                 changed_queries_.end();
        });
    if (asked) {
      queue_.insert(task);
    }
  }
  changes_.clear();
  changed_queries_.clear();
}

void FakeWorld::answer_probes(const Task& task, const Reads& reads) {
  for (const auto& [query, max_age] : reads.observations) {
    const auto known = observations_.find(query);
    const bool fresh = known != observations_.end() &&
                       (known->second.value || known->second.error) &&
                       now - known->second.at <= max_age;
    const auto probe = probes.find(query.substr(0, query.find(':')));
    if (fresh || probe == probes.end()) {
      continue;
    }
    auto answer = probe->second(*this, query);
    if (answer.ok()) {
      observe_as(query, *std::move(answer));
    } else {
      fail_observation(query, std::move(answer).error());
    }
    queue_.insert(task);
  }
}

void FakeWorld::run_task(const Task& task, int& busy) {
  const std::uint64_t version = version_;
  const std::size_t acted = acts.size();
  const Plan plan = reconcile(*task.op, task.key);
  TaskState& state = tasks_[task];
  state.reads = last_reads_;
  state.wake = plan.wake();
  const Reads reads = last_reads_;
  const auto applied = apply(plan, task.op->name);
  const bool retry = !applied.ok() || plan.retries();
  if (!applied.ok()) {
    errors.emplace_back(std::string(task.op->name) + " " + task.key.text(), applied.error());
  } else if (plan.error()) {
    errors.emplace_back(std::string(task.op->name) + " " + task.key.text(), *plan.error());
  }
  if (retry) {
    Duration delay = task.op->backoff.first;
    for (int i = 0; i < state.failures && delay < task.op->backoff.most; ++i) {
      delay *= 2;
    }
    ++state.failures;
    const Instant again = now + std::min(delay, task.op->backoff.most);
    state.wake = state.wake ? std::min(*state.wake, again) : again;
  } else {
    state.failures = 0;
  }
  busy += version != version_ || acted != acts.size() ? 1 : 0;
  answer_probes(task, reads);
  queue_readers();
}

int FakeWorld::settle(const Operators& operators, int limit) {
  for (const Operator* op : operators) {
    if (adopted_.contains(op) && tasks_.contains({op, {}})) {
      continue;
    }
    adopt(*op);
    tasks_[{op, {}}] = {};  // marks that its keys have been queued once
    if (op->singleton) {
      queue_.insert({op, {"", "singleton"}});
      continue;
    }
    for (const Object& object : list(*op->primary)) {
      queue_.insert({op, object.key()});
    }
  }
  queue_readers();
  queue_due();
  int busy = 0;
  std::deque<std::string> recent;
  for (int runs = 0; !queue_.empty(); ++runs) {
    if (runs >= limit) {
      std::string text;
      for (const std::string& line : recent) {
        text += "\n  " + line;
      }
      ADD_FAILURE() << "does not settle within " << limit << " runs; the last plans:" << text;
      queue_.clear();
      return busy;
    }
    const Task task = *queue_.begin();
    queue_.erase(queue_.begin());
    const std::size_t written = writes.size();
    run_task(task, busy);
    for (std::size_t i = written; i < writes.size(); ++i) {
      const Write& write = writes[i];
      recent.push_back(std::string(task.op->name) + " " + task.key.text() + ": " + write.verb +
                       " " + write.kind + " " + write.key + " " + json::print(write.body));
    }
    while (recent.size() > 8) {
      recent.pop_front();
    }
  }
  return busy;
}

void FakeWorld::queue_due() {
  for (auto& [task, state] : tasks_) {
    if (state.wake && *state.wake <= now) {
      state.wake.reset();
      queue_.insert(task);
    }
  }
}

std::optional<Instant> FakeWorld::next_wake() const {
  std::optional<Instant> next;
  for (const auto& [task, state] : tasks_) {
    if (state.wake && (!next || *state.wake < *next)) {
      next = state.wake;
    }
  }
  return next;
}

int FakeWorld::settle_for(const Operators& operators, Duration duration, int limit) {
  const Instant end = now + duration;
  int busy = settle(operators, limit);
  for (int rounds = 0; rounds < limit; ++rounds) {
    const auto next = next_wake();
    if (!next || *next > end) {
      now = end;
      return busy + settle(operators, limit);
    }
    now = std::max(now, *next);
    busy += settle(operators, limit);
  }
  ADD_FAILURE() << "more than " << limit << " wake-ups within the time given";
  now = end;
  return busy;
}

void FakeWorld::restart() {
  tasks_.clear();
  queue_.clear();
}

}  // namespace athanor::test
