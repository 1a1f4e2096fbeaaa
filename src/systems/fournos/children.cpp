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
#include "systems/fournos/status_write.hpp"

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
  return object.controller() ? Child::State::Foreign : Child::State::Ours;
}

}  // namespace

bool is_hidden(const Context& context, const Kind& kind) {
  constexpr int kNoSuchKind = 404;
  const auto error = unreadable(context.view, kind, context.job.ns());
  return error && error->code != kNoSuchKind;
}

Child child_of(const Context& context, const Kind& kind, std::string_view child_name) {
  Child child{.ref = {&kind, {context.job.ns(), std::string(child_name)}}};
  auto object = context.view.get(kind, child.ref.key);
  if (!object && (&kind == &api::kJob || &kind == &api::kSecret) && is_hidden(context, kind)) {
    // The job's version makes another question of it once the job says that a child was made.
    Confirmed found =
        cached_or_confirmed(context, kind, child.ref.key, context.job.object().resource_version());
    child.asked = true;
    child.known = found.known;
    object = std::move(found.object);
  }
  if (object) {
    child.state = state_of(context.job, *object);
    child.object = *std::move(object);
  }
  return child;
}

Child workload_of(const Context& context) {
  return child_of(context, api::kueue::kWorkload, context.job.object().name());
}

Child pipeline_run_of(const Context& context) {
  return child_of(context, api::kPipelineRun, context.job.object().name());
}

void remove(Plan& plan, const Child& child) {
  const bool removable = child.ours() || child.state == Child::State::Leftover;
  if (removable && !child.object.deleting()) {
    plan.then(Delete{.target = child.ref, .guard = {.uid = std::string(child.object.uid())}});
  }
}

void remove_if_allowed(const Context& context, Plan& plan, const Child& child) {
  Plan removal;
  remove(removal, child);
  if (!removal.steps().empty() && !refused(context.view, removal.steps().front())) {
    plan.merge(std::move(removal));
  }
}

Ensured ensure(const Context& context, const Kind& kind, const Value& desired) {
  const Child child = child_of(context, kind, desired["metadata"]["name"].as_string());
  Ensured result;
  if (!child.known) {
    result.state = Ensured::State::Waiting;
    result.steps = await_answer(context);
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
  if (child.state == Child::State::Foreign) {
    constexpr int kConflict = 409;
    result.state = Ensured::State::Refused;
    result.reason = http_reason(kConflict);
    return result;
  }
  const Step create = Create{.target = child.ref, .object = desired};
  if (const auto error = refused(context.view, create)) {
    result.state = Ensured::State::Refused;
    result.reason = http_reason(error->code);
    return result;
  }
  result.steps.then(create);
  return result;
}

Confirmed read_confirmed(const Context& context, const Kind& kind, const Key& key) {
  if (auto object = context.view.get(kind, key)) {
    return {.known = true, .object = std::move(object)};
  }
  Live live = read_live(context.view, kind, key, context.now);
  Confirmed sure{.known = live.known, .error = std::move(live.error)};
  if (!live.objects.empty()) {
    sure.object = std::move(live.objects.front());
  }
  return sure;
}

Confirmed cached_or_confirmed(const Context& context, const Kind& kind, const Key& key,
                              std::string_view seen) {
  if (auto object = context.view.get(kind, key)) {
    return {.known = true, .object = std::move(object)};
  }
  if (!is_hidden(context, kind)) {
    return {.known = true};
  }
  Live live = read_live(context.view, kind, key, context.now, seen);
  Confirmed sure{.known = live.known || (live.error && is_refusal(*live.error))};
  if (!live.objects.empty()) {
    sure.object = std::move(live.objects.front());
  }
  return sure;
}

LiveChild live_child(const Context& context, const Ref& ref, std::string_view seen) {
  const Live live = read_live(context.view, *ref.kind, ref.key, context.now, seen);
  LiveChild child{.known = live.known};
  if (!live.objects.empty() && state_of(context.job, live.objects.front()) == Child::State::Ours) {
    child.object = live.objects.front();
  }
  return child;
}

bool gone_for_good(const Context& context, const Ref& ref) {
  const LiveChild child = live_child(context, ref);
  return child.known && !child.object;
}

Plan await_answer(const Context& context) {
  Plan plan;
  plan.wake_at(context.now + kLiveAge);  // asks again should the answer be an error
  return plan;
}

Priority priority_of(const Context& context) {
  const std::string& name = context.job.spec().priority;
  if (name.empty()) {
    return {.known = true};
  }
  const Confirmed found =
      read_confirmed(context, api::kueue::kWorkloadPriorityClass, Key{.name = name});
  if (!found.object) {
    return {.known = found.known, .missing = found.known};
  }
  return {.known = true, .value = found.object->body()["value"].as_int()};
}

WorkloadEnsured ensure_workload(const Context& context) {
  const Priority priority = priority_of(context);
  if (priority.missing) {
    return {.missing_priority = true};
  }
  if (!priority.known) {
    return {.ensured = {.state = Ensured::State::Waiting, .steps = await_answer(context)}};
  }
  return {.ensured =
              ensure(context, api::kueue::kWorkload, workload_object(context, priority.value))};
}

RunState run_state(const Object& pipeline_run) {
  const Value& condition = find_condition(pipeline_run.status()["conditions"], "Succeeded");
  const std::string_view status = condition["status"].as_string();
  return {.succeeded = status == "True",
          .failed = status == "False" && !pipeline_run.status()["completionTime"].is_null(),
          .message = condition["message"].str()};
}

}  // namespace athanor::fournos
