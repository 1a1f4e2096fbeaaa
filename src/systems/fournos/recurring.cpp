// SPDX-License-Identifier: Apache-2.0
// Recurring jobs: a job with spec.schedule is a template, of which a child runs at each of its
// times (docs/spec/fournos.md 19).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/digest.hpp"
#include "base/time_zone.hpp"
#include "kube/text/cron.hpp"
#include "runtime/view/failures.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/recurring_messages.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

constexpr std::size_t kLongestParent = 63;
constexpr std::size_t kLongestBase = 58;  // of a generated name, as the API server has it
constexpr std::size_t kSuffix = 5;

// Five fields. The names and intervals of CronJobs ("@daily") are no form of this schedule.
std::optional<CronSchedule> parse_schedule(const std::string& text) {
  if (text.starts_with('@')) {
    return std::nullopt;
  }
  auto parsed = CronSchedule::parse(text);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

// Returns the latest time after `since` and not after `now`: of several missed ones, one is made up
// for. Looks at longer and longer stretches, so that few times are walked through.
std::optional<Instant> latest_time(const CronSchedule& schedule, Instant since, Instant now) {
  using std::chrono::hours;
  for (const Duration stretch : {Duration(hours(1)), Duration(hours(24)), Duration(hours(24 * 31)),
                                 Duration(hours(24 * 366 * 5))}) {
    const Instant from = std::max(since, now - stretch);
    std::optional<Instant> latest;
    for (auto time = schedule.next(from, TimeZone{}); time && *time <= now;
         time = schedule.next(*time, TimeZone{})) {
      latest = time;
    }
    if (latest || from == since) {
      return latest;
    }
  }
  return std::nullopt;
}

std::string generate_name(const Job& job) {
  std::string base = job.name().substr(0, kLongestBase);
  while (base.ends_with('-') || base.ends_with('.')) {
    base.pop_back();
  }
  return base + "-";
}

Value child_object(const Job& job, std::string_view child, std::string_view cause) {
  Value spec = job.object().spec();
  for (const char* own : {"schedule", "scheduledStartTime"}) {
    spec.erase(own);
  }
  Value metadata = Value::object({{"name", child},
                                  {"generateName", generate_name(job)},
                                  {"namespace", job.ns()},
                                  {"labels", Value::object({{name::kRecurringParent, job.name()}})},
                                  {"annotations", Value::object({{name::kStartCause, cause}})}});
  return Value::object({{"apiVersion", api::kFournosJob.api_version()},
                        {"kind", api::kFournosJob.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

// Until when the times of a job start nothing: a time in the past for one that goes on. Whatever is
// no time has no end, so that a wrong value starts nothing unasked.
Instant paused_until(const Object& job) {
  const std::string_view text = job.annotation(name::kRecurringPause);
  return text.empty() ? Instant::min() : parse_time(text).value_or(Instant::max());
}

// Its message follows the schedule and the pause.
Plan tell_schedule(const Context& context, bool paused) {
  const std::string& expression = context.job.spec().schedule;
  const std::string& message = context.job.status().message;
  const std::string plain = fmt::format(text::kRecurringSchedule, expression);
  const std::string pause = fmt::format(text::kRecurringPaused, expression);
  const bool told = paused ? message == pause
                           : (message.starts_with(plain) && message != pause) ||
                                 message.starts_with(text::kCreateChildStart);
  Plan plan;
  if (!told) {
    StatusWrite(context).message(paused ? pause : plain).into(plan);
  }
  return plan;
}

struct Start {
  std::string child{};
  std::string refusal{};  // reason phrase; empty: the child is there, or the steps make it
  Plan steps{};
};

// Starts the child of a cause. The same cause has the same child, whatever crash comes between.
Start start_child(const Context& context, const std::string& cause) {
  const Job& job = context.job;
  Start start;
  for (int attempt = 0;; ++attempt) {
    start.child = generate_name(job).substr(0, kLongestBase) +
                  sha256_hex(fmt::format("{}/{}/{}", job.uid(), cause, attempt)).substr(0, kSuffix);
    const Key key{job.ns(), start.child};
    const auto present = context.view.get(api::kFournosJob, key);
    if (!present) {
      break;
    }
    if (present->label(name::kRecurringParent) == job.name() &&
        present->annotation(name::kStartCause) == cause) {
      return start;
    }
  }
  Step step = Create{.target = {&api::kFournosJob, {job.ns(), start.child}},
                     .object = child_object(job, start.child, cause)};
  if (const auto error = refused(context.view, step)) {
    start.refusal = http_reason(error->code);
  } else {
    start.steps.then(std::move(step));
  }
  return start;
}

std::string message_of(const Job& job, const Start& start) {
  return start.refusal.empty() ? fmt::format(text::kRecurringLast, job.spec().schedule, start.child)
                               : fmt::format(text::kCreateChild, start.refusal);
}

Plan start_due(const Context& context, Instant due) {
  Start start = start_child(context, format_time(due));
  Plan plan = std::move(start.steps);
  StatusWrite(context)
      .message(message_of(context.job, start))
      .set("lastScheduledTime", format_time(due))
      .into(plan);
  return plan;
}

// The child's name is kept in the same write that takes the request back.
Plan start_triggered(const Context& context) {
  const Object& template_job = context.job.object();
  Start start = start_child(
      context, fmt::format("trigger after {}", template_job.annotation(name::kLastTriggered)));
  Plan plan = std::move(start.steps);
  StatusWrite(context).message(message_of(context.job, start)).into(plan);
  Value merge = Value::object();
  merge.set_path({"metadata", "annotations"}, Value::object({{name::kTriggerNow, "false"},
                                                             {name::kLastTriggered, start.child}}));
  plan.then(Patch{
      .target = context.job.ref(), .merge = std::move(merge), .guard = {.uid = context.job.uid()}});
  return plan;
}

// Its spec.schedule is gone: it rests, and never runs itself.
Plan rest(const Context& context) {
  Plan plan;
  if (context.job.status().message != text::kNoSchedule) {
    StatusWrite(context).message(text::kNoSchedule).into(plan);
  }
  return plan;
}

}  // namespace

Plan recur(const Context& context) {
  const Job& job = context.job;
  const std::string& expression = job.spec().schedule;
  if (!job.spec().shutdown.empty()) {
    Plan plan;
    StatusWrite(context).enter(phase::kStopped, text::kStoppedByUser).into(plan);
    return plan;
  }
  if (expression.empty()) {
    return rest(context);
  }
  if (!job.spec().scheduled_start_time.empty()) {
    return reject_job(context, text::kScheduleConflict);
  }
  const auto schedule = parse_schedule(expression);
  if (!schedule) {
    return reject_job(context, fmt::format(text::kInvalidCron, expression));
  }
  if (job.name().size() > kLongestParent) {
    return reject_job(context, fmt::format(text::kNameTooLong, kLongestParent));
  }
  Plan plan;
  if (job.status().phase != phase::kRecurring) {
    StatusWrite(context)
        .enter(phase::kRecurring, fmt::format(text::kRecurringSchedule, expression))
        .into(plan);
    return plan;
  }
  // Starts that fall into a pause are skipped, not made up for.
  const Instant resumed = paused_until(job.object());
  const bool paused = resumed > context.now;
  const Instant since = std::max(resumed, job.status().last_scheduled_time.value_or(
                                              job.object().creation_time().value_or(context.now)));
  const auto due = paused ? std::nullopt : latest_time(*schedule, since, context.now);
  if (due) {
    plan = start_due(context, *due);
  } else if (job.object().annotation(name::kTriggerNow) == "true") {
    plan = start_triggered(context);
  } else {
    plan = tell_schedule(context, paused);
  }
  const auto next = schedule->next(context.now, TimeZone{});
  if (paused && resumed != Instant::max()) {
    plan.wake_at(resumed);
  } else if (next && !paused) {
    plan.wake_at(*next);
  }
  return plan;
}

}  // namespace athanor::fournos
