// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/schedules/resume.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "api/builtin.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::fournos {
namespace {

Value without_end() {
  Value annotations = Value::object();
  annotations.set(kPausedUntil, Value());
  return Value::object({{"annotations", std::move(annotations)}});
}

// Fails if the schedule has changed since: it may be paused anew.
Step patch(const Object& cron, Value merge) {
  return Patch{.target = {&api::kCronJob, cron.key()},
               .merge = std::move(merge),
               .guard = {.uid = std::string(cron.uid()),
                         .resource_version = std::string(cron.resource_version())}};
}

Plan reconcile_pause(const View& view, const Key& key, Instant now) {
  const auto cron = view.get(api::kCronJob, key);
  if (!cron || cron->deleting() || cron->label(kScheduleManagedBy) != kScheduleManager) {
    return Plan::done();
  }
  const std::string text(cron->annotation(kPausedUntil));
  if (text.empty()) {
    return Plan::done();
  }
  Plan plan;
  if (!cron->spec()["suspend"].as_bool()) {
    plan.then(patch(*cron, Value::object({{"metadata", without_end()}})));
    return plan;
  }
  const auto until = parse_time(text);
  if (!until) {
    plan.then(Emit{.about = {&api::kCronJob, key},
                   .about_uid = std::string(cron->uid()),
                   .type = "Warning",
                   .reason = "PauseWithoutEnd",
                   .note = fmt::format("the schedule stays paused: annotation {} is no time: {}",
                                       kPausedUntil, text),
                   .id = text});
    return plan;
  }
  if (*until > now) {
    plan.wake_at(*until);
    return plan;
  }
  plan.then(patch(*cron, Value::object({{"metadata", without_end()},
                                        {"spec", Value::object({{"suspend", false}})}})));
  plan.then(Emit{.about = {&api::kCronJob, key},
                 .about_uid = std::string(cron->uid()),
                 .reason = "ScheduleResumed",
                 .note = fmt::format("the schedule was paused until {}", text)});
  return plan;
}

}  // namespace

const Operator& resume_operator() {
  static constexpr const Kind* kReads[] = {&api::kCronJob};
  static constexpr const Kind* kWrites[] = {&api::kCronJob};
  static constexpr Access kAccess[] = {{&api::kCronJob, "patch"}, {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "fournos-schedules",
                                  .primary = &api::kCronJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_pause,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::fournos
