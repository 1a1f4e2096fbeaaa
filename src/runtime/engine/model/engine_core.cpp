// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/model/engine_core.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace athanor::runtime {

namespace {

// Returns a text such as "create Pod a/p, status Pod a/p": without contents, which may be secret.
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

}  // namespace

EngineCore::EngineCore(std::span<const Operator* const> operators, EngineOptions engine_options)
    : options(std::move(engine_options)),
      metrics(options.metrics),
      board(options.instruments, options.metrics),
      reads(declared_indexes(operators)),
      observations(reads),
      world(operators, declared_indexes(operators), options, observations),
      keys(metrics) {}

bool EngineCore::report(const std::string& query, const std::optional<Error>& error, Instant now) {
  const bool news = observations.record(query, error, now);
  if (news) {
    queue_readers(query, now);
  }
  return news;
}

void EngineCore::queue_readers(std::string_view query, Instant now) {
  std::set<TaskId> readers;
  reads.readers_of(query, readers);
  for (const TaskId id : readers) {
    if (Task* task = keys.find(id)) {
      keys.queue(*task, Priority::Interactive, now, Cause::Observed);
    }
  }
}

std::vector<std::string> EngineCore::observed_by(const Task& task) const {
  std::vector<std::string> queries;
  if (const Reads* read = reads.of(task.id)) {
    for (const auto& [query, max_age] : read->observations) {
      queries.push_back(query);
    }
  }
  return queries;
}

void EngineCore::forget(Task& task) {
  const std::vector<std::string> queries = observed_by(task);
  reads.remove(task.id);
  observations.drop_unread(queries);
  keys.erase(task);
}

void EngineCore::start_wait(Task& task, Instant now) {
  if (task.phase != Task::Phase::Waiting) {
    task.phase = Task::Phase::Waiting;
    task.waits_since = now;
    prolong_wait(task, now);
  }
}

void EngineCore::prolong_wait(Task& task, Instant now) {
  task.barrier_end = now + options.barrier_timeout;
  deadlines.emplace(task.barrier_end, task.id);
}

void EngineCore::end_wait(Task& task) {
  deadlines.erase({task.barrier_end, task.id});
  if (task.overdue != Task::Overdue::Nothing) {
    metrics.overdue(task.controller->number, name_of(task.overdue), false);
    task.overdue = Task::Overdue::Nothing;
  }
}

bool EngineCore::note_overdue(Task& task) {
  if (task.overdue != Task::Overdue::Nothing) {
    return false;
  }
  task.overdue = task.controller->unseen.empty() ? Task::Overdue::Writes : Task::Overdue::Sight;
  metrics.overdue(task.controller->number, name_of(task.overdue), true);
  return true;
}

void EngineCore::report_broken(std::string_view controller, const std::string& key,
                               const std::string& what, const Plan* plan) {
  metrics.broke(controller, 1);
  log::error("a broken invariant costs a key",
             {{"controller", controller},
              {"key", key},
              {"what", what},
              {"time", format_micro_time(latest)},
              {"steps", plan == nullptr ? std::string() : summary_of(*plan)}});
}

std::string_view name_of(Task::Overdue overdue) {
  return overdue == Task::Overdue::Sight ? "sight" : "writes";
}

}  // namespace athanor::runtime
