// SPDX-License-Identifier: Apache-2.0
// Reading, ensuring and removing a job's children.
#include "systems/fournos/children.hpp"

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/phase.hpp"

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

}  // namespace

bool is_hidden(const Tick& tick, const Kind& kind) {
  constexpr int kNoSuchKind = 404;
  const auto error = unreadable(tick.view, kind, tick.job.ns());
  return error && error->code != kNoSuchKind;
}

Child child_of(const Tick& tick, const Kind& kind, std::string_view child_name) {
  Child child{.ref = {&kind, {tick.job.ns(), std::string(child_name)}}};
  auto object = tick.view.get(kind, child.ref.key);
  if (!object && (&kind == &api::kJob || &kind == &api::kSecret) && is_hidden(tick, kind)) {
    // The job's version makes another question of it once the job says that a child was made.
    Sure found = seen_or_asked(tick, kind, child.ref.key, tick.job.object().resource_version());
    child.asked = true;
    child.known = found.known;
    object = std::move(found.object);
  }
  if (object) {
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

void remove_if_allowed(const Tick& tick, Plan& plan, const Child& child) {
  Plan removal;
  remove(removal, child);
  if (!removal.steps().empty() && !refused(tick.view, removal.steps().front())) {
    plan.merge(std::move(removal));
  }
}

Ensured ensure(const Tick& tick, const Kind& kind, const Value& desired) {
  const Child child = child_of(tick, kind, desired["metadata"]["name"].as_string());
  Ensured result;
  if (!child.known) {
    result.state = Ensured::State::Waiting;
    result.steps = await_answer(tick);
    return result;
  }
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

Sure surely(const Tick& tick, const Kind& kind, const Key& key) {
  if (auto object = tick.view.get(kind, key)) {
    return {.known = true, .object = std::move(object)};
  }
  Live live = read_live(tick.view, kind, key, tick.now);
  Sure sure{.known = live.known, .error = std::move(live.error)};
  if (!live.objects.empty()) {
    sure.object = std::move(live.objects.front());
  }
  return sure;
}

Sure seen_or_asked(const Tick& tick, const Kind& kind, const Key& key, std::string_view seen) {
  if (auto object = tick.view.get(kind, key)) {
    return {.known = true, .object = std::move(object)};
  }
  if (!is_hidden(tick, kind)) {
    return {.known = true};
  }
  Live live = read_live(tick.view, kind, key, tick.now, seen);
  Sure sure{.known = live.known || (live.error && is_refusal(*live.error))};
  if (!live.objects.empty()) {
    sure.object = std::move(live.objects.front());
  }
  return sure;
}

LiveChild live_child(const Tick& tick, const Ref& ref, std::string_view seen) {
  const Live live = read_live(tick.view, *ref.kind, ref.key, tick.now, seen);
  LiveChild child{.known = live.known};
  if (!live.objects.empty() && state_of(tick.job, live.objects.front()) == Child::State::Ours) {
    child.object = live.objects.front();
  }
  return child;
}

bool gone_for_good(const Tick& tick, const Ref& ref) {
  const LiveChild child = live_child(tick, ref);
  return child.known && !child.object;
}

Plan await_answer(const Tick& tick) {
  Plan plan;
  plan.wake_at(tick.now + kLiveAge);  // asks again should the answer be an error
  return plan;
}

Priority priority_of(const Tick& tick) {
  const std::string& name = tick.job.spec().priority;
  if (name.empty()) {
    return {.known = true};
  }
  const Sure found = surely(tick, api::kueue::kWorkloadPriorityClass, Key{.name = name});
  if (!found.object) {
    return {.known = found.known, .missing = found.known};
  }
  return {.known = true, .value = found.object->body()["value"].as_int()};
}

WorkloadEnsured ensure_workload(const Tick& tick) {
  const Priority priority = priority_of(tick);
  if (priority.missing) {
    return {.missing_priority = true};
  }
  if (!priority.known) {
    return {.ensured = {.state = Ensured::State::Waiting, .steps = await_answer(tick)}};
  }
  return {.ensured = ensure(tick, api::kueue::kWorkload, workload_object(tick, priority.value))};
}

RunState run_state(const Object& pipeline_run) {
  const Value& condition = find_condition(pipeline_run.status()["conditions"], "Succeeded");
  const std::string_view status = condition["status"].as_string();
  return {.succeeded = status == "True",
          .failed = status == "False" && !pipeline_run.status()["completionTime"].is_null(),
          .message = condition["message"].str()};
}

}  // namespace athanor::fournos
