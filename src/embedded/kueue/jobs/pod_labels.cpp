// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/pod_labels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/names.hpp"

namespace athanor::kueue::jobs {
namespace {

bool follow_limit(Plan& plan, const Object& workload, const Object& pod) {
  const Value limit = max_execution_time(pod);
  if (says(workload, "QuotaReserved") || workload.spec()["maximumExecutionTimeSeconds"] == limit) {
    return false;
  }
  plan.then(Patch{
      .target = ref_to(workload),
      .merge = Value::object({{"spec", Value::object({{"maximumExecutionTimeSeconds", limit}})}}),
      .guard = guard_for(workload)});
  return true;
}

// A queue or a limit that a Workload with quota cannot take: it is made anew as long as all pods
// are behind their gates. True: something is written.
bool follow_despite_quota(Plan& plan, const PodGroup& group, const Object& workload,
                          std::string_view queue) {
  const std::vector<Object> alive = group.living();
  const Object& pod = alive.front();
  const bool prebuilt = !prebuilt_name(pod).empty();
  const bool elsewhere = api::kueue::holds_elsewhere(workload, queue);
  const bool limited = !prebuilt && says(workload, "QuotaReserved") &&
                       workload.spec()["maximumExecutionTimeSeconds"] != max_execution_time(pod);
  if ((!elsewhere && !limited) || !is_gated(pod)) {
    return false;
  }
  if (prebuilt || !std::ranges::all_of(alive, is_gated) ||
      static_cast<std::int64_t>(alive.size()) < group.total) {
    tell(plan, api::kPod, pod, api::kueue::kNotUpdated,
         api::kueue::not_updated(workload, elsewhere ? "queue" : "time limit"), "Warning");
    return false;
  }
  // Without its finalizer it goes at once: one that is being deleted stops its pods.
  drop_workload(plan, workload);
  plan.then(Delete{.target = ref_to(workload), .guard = {.uid = std::string(workload.uid())}});
  emit_for_pods(plan, group, "DeletedWorkload",
                fmt::format("Deleted not matching Workload: {}", workload.key().text()));
  return true;
}

}  // namespace

void emit_for_pods(Plan& plan, const PodGroup& group, std::string_view reason,
                   const std::string& note) {
  for (const Object& pod : group.pods) {
    tell(plan, api::kPod, pod, reason, note);
  }
}

void drop_workload(Plan& plan, const Object& workload) {
  if (workload.has_finalizer(api::kueue::kInUseFinalizer)) {
    drop_finalizer(plan, api::kueue::kWorkload, workload, api::kueue::kInUseFinalizer);
  }
}

bool follow_labels(Plan& plan, const View& view, const PodGroup& group, const Object& workload) {
  const std::vector<Object> alive = group.living();
  if (alive.empty()) {
    return false;
  }
  const Object& pod = alive.front();
  const bool prebuilt = !prebuilt_name(pod).empty();
  const std::string_view queue =
      api::kueue::wanted_queue(workload, pod.label(name::kQueue), prebuilt);
  if (follow_queue(plan, workload, queue) || (!prebuilt && follow_limit(plan, workload, pod)) ||
      follow_despite_quota(plan, group, workload, queue)) {
    return true;
  }
  const auto written = follow_priority(plan, view, workload, pod);
  if (!written.ok()) {
    tell(plan, api::kPod, pod, "WorkloadPriorityClassNotFound", written.error().message, "Warning");
    return false;
  }
  if (*written) {
    emit_for_pods(plan, group, "UpdatedWorkload",
                  fmt::format("Updated workload priority class: {}", workload.key().text()));
  } else if (auto kept = kept_priority(workload, pod); kept && is_gated(pod)) {
    tell(plan, api::kPod, pod, api::kueue::kNotUpdated, *std::move(kept), "Warning");
  }
  return *written;
}

}  // namespace athanor::kueue::jobs
