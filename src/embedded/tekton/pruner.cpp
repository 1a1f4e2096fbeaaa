// SPDX-License-Identifier: Apache-2.0
// The controller that deletes runs that ended, namespace by namespace, on a schedule. What a run
// owns goes with it; a run that goes on is never touched.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/prune_rules.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

// When the namespace was pruned last, or when its rules were first seen: a schedule counts from
// there on.
constexpr std::string_view kPrunedAt = "athanor.dev/pruned-at";

std::optional<Instant> end_of_run(const Object& run) {
  const auto end = time_of(run.status()["completionTime"]);
  return end ? end : time_of(succeeded(run)["lastTransitionTime"]);
}

Instant start_of_run(const Object& run) {
  const auto start = time_of(run.status()["startTime"]);
  return start.value_or(run.creation_time().value_or(Instant()));
}

// Returns true if the run is part of a PipelineRun that goes on.
bool is_needed(const View& view, const Object& run) {
  const auto owner = run.controller();
  if (!owner || owner->kind != api::kPipelineRun.name) {
    return false;
  }
  const auto whole = view.get(api::kPipelineRun, {std::string(run.ns()), owner->name});
  return whole && whole->uid() == owner->uid && !is_done(*whole);
}

// Returns true for a PipelineRun of another one: it goes with that.
bool is_child(const Kind& kind, const Object& run) {
  const auto owner = run.controller();
  return &kind == &api::kPipelineRun && owner && owner->kind == api::kPipelineRun.name;
}

// Returns the runs of a kind that ended, by pipeline or task where the rules say so.
std::map<std::string, std::vector<Object>> ended_runs(const View& view, const Kind& kind,
                                                      std::string_view ns,
                                                      const PruneRules& rules) {
  std::map<std::string, std::vector<Object>> groups;
  const std::string_view label = &kind == &api::kPipelineRun ? kPipelineLabel : kTaskLabel;
  for (Object& run : view.list(kind, {.ns = std::string(ns)})) {
    if (!is_done(run) || run.deleting() || is_needed(view, run) || is_child(kind, run)) {
      continue;
    }
    const std::string_view resource = run.label(label);
    if (!rules.per_resource) {
      groups[""].push_back(std::move(run));
    } else if (!resource.empty()) {
      groups[std::string(resource)].push_back(std::move(run));
    }
  }
  return groups;
}

// Removes from `runs` those that stay.
void leave_out_kept(std::vector<Object>& runs, const PruneRules& rules, Instant now) {
  if (rules.keep_since) {
    std::erase_if(runs, [&](const Object& run) {
      const auto end = end_of_run(run);
      return !end || now - *end <= *rules.keep_since;
    });
    return;
  }
  std::ranges::stable_sort(
      runs, [](const Object& a, const Object& b) { return start_of_run(a) > start_of_run(b); });
  const auto kept = static_cast<std::size_t>(rules.keep.value_or(0));
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(std::min(kept, runs.size())));
}

// Plans the deletions of one kind; returns false if more are left than a plan may hold.
bool prune(const View& view, const Kind& kind, std::string_view ns, const PruneRules& rules,
           Plan& plan, Instant now) {
  for (auto& [resource, runs] : ended_runs(view, kind, ns, rules)) {
    leave_out_kept(runs, rules, now);
    for (const Object& run : runs) {
      if (plan.steps().size() >= kStepsPerPlan) {
        return false;
      }
      plan.then(Delete{.target = {&kind, run.key()}, .guard = {.uid = std::string(run.uid())}});
    }
  }
  return true;
}

// Writes when the runs of a namespace were pruned last; Null: the annotation goes.
Step record(const Object& ns, Value time) {
  const Value annotations = Value::object({{kPrunedAt, std::move(time)}});
  return Patch{
      .target = {&api::kNamespace, ns.key()},
      .merge = Value::object({{"metadata", Value::object({{"annotations", annotations}})}}),
      .guard = {.uid = std::string(ns.uid())}};
}

Plan reconcile_pruning(const View& view, const Key& key, Instant now) {
  const auto ns = view.get(api::kNamespace, key);
  if (!ns || ns->deleting()) {
    return Plan::done();
  }
  const auto config = view.get(api::kConfigMap, {"tekton-pipelines", "config-pruner"});
  const PruneReading reading = prune_rules(*ns, config ? config->body()["data"] : Value());
  Plan plan;
  if (!reading.problems.empty()) {
    plan.then(Emit{.about = {&api::kNamespace, key},
                   .about_uid = std::string(ns->uid()),
                   .type = "Warning",
                   .reason = "PruneAnnotationIgnored",
                   .note = join(reading.problems, "; ")});
  }
  const bool is_recorded = !ns->annotation(kPrunedAt).empty();
  if (!reading.rules) {
    if (is_recorded) {  // rules that come later count from then on
      plan.then(record(*ns, Value()));
    }
    return plan;
  }
  const auto last = parse_time(ns->annotation(kPrunedAt));
  if (!last) {
    plan.then(record(*ns, format_time(now)));
    return plan;
  }
  const auto next = reading.rules->schedule.next(*last, TimeZone());
  if (!next) {
    return plan;
  }
  constexpr Duration kShortest = std::chrono::minutes(1);  // as each pruning is a write
  const Instant due = std::max(*next, *last + kShortest);
  if (now < due) {
    plan.wake_at(due);
    return plan;
  }
  const bool whole = (!reading.rules->pipeline_runs ||
                      prune(view, api::kPipelineRun, key.name, *reading.rules, plan, now)) &&
                     (!reading.rules->task_runs ||
                      prune(view, api::kTaskRun, key.name, *reading.rules, plan, now));
  if (whole) {
    plan.then(record(*ns, format_time(now)));
  }
  return plan;
}

}  // namespace

const Operator& pruner_operator() {
  static constexpr const Kind* kReads[] = {&api::kNamespace, &api::kConfigMap, &api::kPipelineRun,
                                           &api::kTaskRun};
  static constexpr const Kind* kWrites[] = {&api::kNamespace, &api::kPipelineRun, &api::kTaskRun};
  static constexpr Access kAccess[] = {{&api::kNamespace, "patch"},
                                       {&api::kPipelineRun, "delete"},
                                       {&api::kTaskRun, "delete"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "tekton-pruner",
                                  .primary = &api::kNamespace,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_pruning,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::tekton
