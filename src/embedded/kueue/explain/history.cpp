// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/history.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::kueue {
namespace {

constexpr double kHalf = 0.5;
constexpr double kMost = 0.9;

Key local_queue_of(const Object& workload) {
  return {std::string(workload.ns()), workload.spec()["queueName"].str()};
}

std::optional<Instant> changed_at(const Value& condition) {
  return parse_time(condition["lastTransitionTime"].as_string());
}

bool has_ended(const Object& job) {
  constexpr std::array<std::string_view, 3> kEnds{"Succeeded", "Failed", "Stopped"};
  return std::ranges::find(kEnds, job.status()["phase"].as_string()) != kEnds.end();
}

// Schemas without status.completionTime have conditions that change at the end.
std::optional<Instant> end_of_job(const Object& job) {
  std::optional<Instant> end = parse_time(job.status()["completionTime"].as_string());
  if (end) {
    return end;
  }
  for (const Value& condition : job.status()["conditions"].items()) {
    const auto at = changed_at(condition);
    end = at && (!end || *at > *end) ? at : end;
  }
  return end;
}

}  // namespace

void RunHistory::add_run(const Key& queue, Duration length) {
  if (length >= Duration::zero()) {
    by_queue_[queue].push_back(length);
    ++count_;
  }
}

void RunHistory::add(const Object& workload) {
  const Value& conditions = workload.status()["conditions"];
  const auto began = changed_at(find_condition(conditions, "Admitted"));
  const auto ended = changed_at(find_condition(conditions, "Finished"));
  if (began && ended) {
    add_run(local_queue_of(workload), *ended - *began);
  }
}

void RunHistory::add_job(const Object& job, const std::set<std::string>& queues) {
  if (job.spec()["lockOnly"].as_bool()) {
    locks_.emplace(job.key(), parse_time(job.spec()["lockUntil"].as_string()));
    return;
  }
  const Value& admitted = find_condition(job.status()["conditions"], "WorkloadAdmitted");
  const auto began = changed_at(admitted);
  const auto ended = end_of_job(job);
  if (!has_ended(job) || admitted["status"].as_string() != "True" || !began || !ended) {
    return;
  }
  for (const std::string& queue : queues) {
    add_run({std::string(job.ns()), queue}, *ended - *began);
  }
}

void RunHistory::finish() {
  for (auto& [queue, lengths] : by_queue_) {
    std::ranges::sort(lengths);
  }
}

std::optional<Duration> RunHistory::left(const Object& workload, Instant began, Instant now,
                                         Pace pace) const {
  if (const auto owner = workload.controller(); owner && owner->kind == api::kFournosJob.name) {
    if (const auto lock = locks_.find({std::string(workload.ns()), owner->name});
        lock != locks_.end()) {
      return lock->second ? std::optional<Duration>(std::max(*lock->second - now, Duration::zero()))
                          : std::nullopt;
    }
  }
  const Duration elapsed = std::max(now - began, Duration::zero());
  const std::int64_t seconds = workload.spec()["maximumExecutionTimeSeconds"].as_int();
  const std::optional<Duration> allowed =
      seconds > 0 ? std::optional<Duration>(std::max<Duration>(
                        Duration::zero(), std::chrono::seconds(seconds) - elapsed))
                  : std::nullopt;
  if (pace == Pace::Slow && allowed) {
    return allowed;
  }
  const auto known = by_queue_.find(local_queue_of(workload));
  if (known == by_queue_.end()) {
    return allowed;
  }
  // Of those that took longer than it has taken.
  const auto longer = std::ranges::upper_bound(known->second, elapsed);
  const auto rest = static_cast<std::size_t>(known->second.end() - longer);
  if (rest == 0) {  // it may end at any moment, or go on for long
    return pace == Pace::Fast ? std::optional<Duration>(Duration::zero()) : std::nullopt;
  }
  const double share = pace == Pace::Fast ? kHalf : kMost;
  const auto at = std::min(rest - 1, static_cast<std::size_t>(share * static_cast<double>(rest)));
  const Duration expected = *(longer + static_cast<std::ptrdiff_t>(at)) - elapsed;
  return allowed ? std::min(*allowed, expected) : expected;
}

}  // namespace athanor::kueue
