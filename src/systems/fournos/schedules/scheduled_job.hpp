// SPDX-License-Identifier: Apache-2.0
// Scheduled jobs (docs/spec/dashboard.md A7): CronJobs whose pods submit a FournosJob. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::fournos {

// Labels and annotations of CronJobs and of the jobs that they submit.
inline constexpr std::string_view kScheduleManagedBy = "fournos-launcher/managed-by";
inline constexpr std::string_view kScheduleManager = "fournos-dashboard";
inline constexpr std::string_view kScheduleSelector =
    "fournos-launcher/managed-by=fournos-dashboard";
inline constexpr std::string_view kScheduleName = "fournos-launcher/schedule-name";
inline constexpr std::string_view kTriggerType = "fournos-launcher/trigger-type";

// Inputs of a schedule.
struct ScheduleSpec {
  std::string name{};
  std::string ns{};
  std::string cron{};
  std::string zone{};  // empty: that of the controller, UTC in a lab
  std::string overlap = "Allow";
  std::optional<std::int64_t> deadline_seconds{};
  std::string image{};
  std::string service_account{};
  std::string preset{};
  Value job{};  // a FournosJob
};

// Returns the CronJob. Errors: a name longer than 52 bytes, a schedule that is none, no image.
Result<Value> schedule_object(const ScheduleSpec& spec);
// Returns the label of a project, whose name may have characters that labels do not take.
std::string project_label(std::string project);
// Returns the FournosJob that a schedule's pods submit; nullopt: none of its containers has one.
std::optional<Value> job_of_schedule(const Object& cron);
// Returns the Job that starts a schedule by hand, at once.
Value manual_start(const Object& cron, Instant now);

// A variable of a container's environment; nullopt: it is not set.
using Variables = std::function<std::optional<std::string>(std::string_view name)>;
// Returns the FournosJob to create: that of FJOB_JSON with the trigger type of
// FOURNOS_TRIGGER_TYPE, and the lines KEY=VALUE of `resolved` as configuration. FOURNOS_JOB_NAME,
// which is different for each start and the same for each attempt of one, becomes its name. Errors:
// FJOB_JSON is missing or damaged.
Result<Value> scheduled_job(const Variables& variables, std::string_view resolved);
// Returns the arguments of a container that submits such a job.
std::vector<std::string> submit_arguments();
// Returns its variable FOURNOS_JOB_NAME, which Kubernetes sets.
Value job_name_variable();
// Returns true for Athanor's own image, from any registry.
bool is_submit_image(std::string_view image);
// Returns the error 404 of a service account that the pods of a schedule name.
Error missing_account(std::string_view ns, std::string_view account);

}  // namespace athanor::fournos
