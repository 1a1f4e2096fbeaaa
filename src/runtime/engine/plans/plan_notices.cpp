// SPDX-License-Identifier: Apache-2.0
// Events about writes: refusals that no controller reports, and objects that two
// writers write in turn.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/log.hpp"
#include "runtime/engine/plans/plan_runner.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

// The same refusal of one key is told this often at most; an Event counts the times.
constexpr Duration kRefusalPause = std::chrono::seconds(30);
constexpr std::size_t kMostTold = 4096;

WriteLoops::Writer writer_of(const Task& task) {
  return {.controller = task.controller->op->name, .key = task.key};
}

// Returns the body of the object that a step makes; nullptr: it makes none.
const Value* made_by(const Step& step) {
  if (const auto* create = std::get_if<Create>(&step)) {
    return &create->object;
  }
  const auto* apply = std::get_if<Apply>(&step);
  return apply == nullptr ? nullptr : &apply->fields;
}

std::string_view reason_of(const Step& step) {
  return std::holds_alternative<Create>(step)   ? "FailedCreate"
         : std::holds_alternative<Delete>(step) ? "FailedDelete"
                                                : "FailedUpdate";
}

std::string_view verb_of(const Step& step) {
  return std::holds_alternative<Create>(step)   ? "create"
         : std::holds_alternative<Delete>(step) ? "delete"
                                                : "update";
}

}  // namespace

// ---- write loops

void PlanRunner::saw(const Kind& kind, const Object& object) {
  if (loops_.suspects()) {
    loops_.saw({&kind, object.key()}, object);
  }
}

void PlanRunner::sweep(Instant now) {
  loops_.sweep(now);
  std::erase_if(told_, [&](const auto& one) { return now - one.second.when >= kRefusalPause; });
}

void PlanRunner::shift(Duration by) {
  loops_.shift(by);
  for (auto& [id, told] : told_) {
    told.when += by;
  }
}

void PlanRunner::note_loop(Task& task, const Sent& sent, const Object& after, Instant now) {
  const WriteLoops::Writer writer = writer_of(task);
  const int pauses = loops_.wrote(
      {.writer = writer, .request = sent.request, .before = sent.known, .after = after}, now);
  if (pauses == 0) {
    return;
  }
  const Ref ref{sent.request.target.kind, after.key()};
  std::string other = loops_.rival(writer, ref);
  if (other.empty()) {
    other = "another client";
  }
  core_.metrics.looped(task.controller->number);
  if (core_.options.stopwatch != nullptr) {
    log::warn("two writers write one object in turn", {{"controller", task.controller->op->name},
                                                       {"key", task.key.text()},
                                                       {"other", other},
                                                       {"kind", ref.kind->name},
                                                       {"object", ref.key.text()},
                                                       {"pause", pauses}});
  }
  emit(task,
       {.about = ref,
        .about_uid = std::string(after.uid()),
        .type = "Warning",
        .reason = "WriteLoop",
        .note = fmt::format("{} and {} write this object in turn, each undoing the other's write; "
                            "{} writes it less often from now on",
                            writer.text(), other, task.controller->op->name)},
       now);
}

std::optional<Instant> PlanRunner::held_until(const Task& task, const WriteRequest& request,
                                              Instant now) const {
  return request.verb == WriteVerb::Delete
             ? std::nullopt
             : loops_.held_until(writer_of(task), request.target, now);
}

void PlanRunner::put_off(Task& task, Instant until) {
  Work& work = *task.work;
  const Ref& ref = *target_of(work.plan.steps()[work.step]);
  if (!task.again || until < *task.again) {
    task.again = until;
    task.again_cause = Cause::Retry;
  }
  if (task.controller->op->independent_steps) {
    pass_step(work);
    return;
  }
  work.failure = PlanFailure{
      .error = Error::conflict(fmt::format("{} \"{}\" is written in turn with another writer",
                                           ref.kind->plural, ref.key.name)),
      .held_until = until};
}

// ---- refusals

std::optional<Ref> PlanRunner::subject_of(const Task& task, const Step& step) const {
  const Operator& op = *task.controller->op;
  if (!op.singleton) {
    const Ref own{op.primary, task.key};
    return core_.world.find(*op.primary)->find(task.key) == nullptr ? std::nullopt
                                                                    : std::optional(own);
  }
  // One key writes for many objects: that which is written, or the owner of that which is made.
  const Ref& target = *target_of(step);
  if (const Cache* held = core_.world.find(*target.kind);
      held != nullptr && held->find(target.key) != nullptr) {
    return target;
  }
  const Value* body = made_by(step);
  const auto owner = body == nullptr ? std::nullopt : Object(*body).controller();
  if (!owner) {
    return std::nullopt;
  }
  for (const Kind* kind : core_.world.kinds()) {
    if (kind->name != owner->kind || kind->api_version() != owner->api_version) {
      continue;
    }
    const Key key{kind->namespaced ? target.key.ns : std::string(), owner->name};
    if (core_.world.find(*kind)->find(key) != nullptr) {
      return Ref{kind, key};
    }
  }
  return std::nullopt;
}

void PlanRunner::tell_refusal(Task& task, const Step& step, const Failure& failure, Instant now) {
  if (!classify(failure).is_for_people) {
    return;
  }
  // A controller that reads the refusals of a step answers them itself.
  const Reads* reads = core_.reads.of(task.id);
  const std::string query = refusals_query(step);
  if (reads != nullptr && std::ranges::any_of(reads->observations, [&](const auto& read) {
        return read.first == query;
      })) {
    return;
  }
  const std::optional<Ref> subject = subject_of(task, step);
  const std::string what =
      fmt::format("{} {} {}", verb_of(step), target_of(step)->kind->name, failure.error.code);
  Told& told = told_[task.id];
  if (!subject || told_.size() > kMostTold ||
      (told.what == what && now >= told.when && now - told.when < kRefusalPause)) {
    return;
  }
  told = {.what = what, .when = now};
  const Ref& target = *target_of(step);
  emit(task,
       {.about = *subject,
        .type = "Warning",
        .reason = std::string(reason_of(step)),
        .note = fmt::format("cannot {} {}{}: {}", verb_of(step), target.kind->name,
                            target.key.name.empty() ? std::string() : " " + target.key.name,
                            failure.error.message)},
       now);
}

}  // namespace athanor::runtime
