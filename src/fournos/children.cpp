// SPDX-License-Identifier: Apache-2.0
// Reading, ensuring and removing a job's children.
#include "fournos/children.hpp"

#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "fournos/desired.hpp"
#include "fournos/phase.hpp"
#include "kube/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::fournos {
namespace {

Child::State state_of(const Job& job, const Object& object) {
  if (object.owned_by(job.object().uid())) {
    return Child::State::Ours;
  }
  for (const OwnerReference& owner : object.owners()) {
    if (owner.kind == api::kFournosJob.name &&
        owner.api_version == api::kFournosJob.api_version()) {
      return Child::State::Leftover;
    }
  }
  return Child::State::Ours;
}

std::optional<std::int64_t> priority_of(const Tick& tick) {
  const auto found =
      tick.view.get<api::kueue::WorkloadPriorityClass>(Key{.name = tick.job.spec().priority});
  return found ? std::optional<std::int64_t>(found->value) : std::nullopt;
}

}  // namespace

Child child_of(const Tick& tick, const Kind& kind, std::string_view child_name) {
  Child child{.ref = {&kind, {tick.job.ns(), std::string(child_name)}}};
  if (auto object = tick.view.get(kind, child.ref.key)) {
    child.state = state_of(tick.job, *object);
    child.object = *std::move(object);
  }
  return child;
}

Child workload_of(const Tick& tick) {
  return child_of(tick, api::kueue::kWorkload, tick.job.object().name());
}

Child pipeline_run_of(const Tick& tick) {
  return child_of(tick, api::kPipelineRun, tick.job.object().name());
}

void remove(Plan& plan, const Child& child) {
  if (child.state != Child::State::Absent && !child.object.deleting()) {
    plan.then(Delete{.target = child.ref, .guard = {.uid = std::string(child.object.uid())}});
  }
}

Ensured ensure(const Tick& tick, const Kind& kind, const Value& desired) {
  const Child child = child_of(tick, kind, desired["metadata"]["name"].as_string());
  Ensured result;
  if (child.state == Child::State::Leftover || child.object.deleting()) {
    result.state = Ensured::State::Waiting;
    remove(result.steps, child);
    return result;
  }
  if (child.ours()) {
    return result;
  }
  const Step create = Create{.target = child.ref, .object = desired};
  if (const auto error = refused(tick.view, create)) {
    result.state = Ensured::State::Refused;
    result.reason = http_reason(error->code);
    return result;
  }
  result.steps.then(create);
  return result;
}

bool priority_known(const Tick& tick) {
  return tick.job.spec().priority.empty() || priority_of(tick).has_value();
}

WorkloadEnsured ensure_workload(const Tick& tick) {
  std::optional<std::int64_t> priority;
  if (!tick.job.spec().priority.empty()) {
    priority = priority_of(tick);
    if (!priority) {
      return {.missing_priority = true};
    }
  }
  return {.ensured = ensure(tick, api::kueue::kWorkload, workload_object(tick, priority))};
}

RunState run_state(const Object& pipeline_run) {
  const Value& condition = find_condition(pipeline_run.status()["conditions"], "Succeeded");
  const std::string_view status = condition["status"].as_string();
  return {.succeeded = status == "True",
          .failed = status == "False" && !pipeline_run.status()["completionTime"].is_null(),
          .message = condition["message"].str()};
}

}  // namespace athanor::fournos
