// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/child_jobs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/apply/patch.hpp"
#include "runtime/view/live.hpp"

namespace athanor::kueue::jobs {
namespace {

constexpr std::string_view kMultiKueue = "kueue.x-k8s.io/multikueue";
// After an error of the API server.
constexpr Duration kAskAgain = std::chrono::seconds(5);

bool some_admitted(const std::vector<Object>& workloads) {
  return std::ranges::any_of(workloads, [](const Object& one) { return says(one, "Admitted"); });
}

// True if the AppWrapper is suspended until it is admitted. One that runs without admission is
// stopped first; others are over, or another controller runs them.
bool waits(const Object& app) {
  const std::string_view manager = app.spec()["managedBy"].as_string();
  const std::string_view phase = app.status()["phase"].as_string();
  return app.spec()["suspend"].as_bool() && !app.deleting() &&
         (manager.empty() || manager == kAppWrapperController || manager == kMultiKueue) &&
         phase != "Succeeded" && phase != "Failed";
}

// The Workloads of an AppWrapper as the API server has them, asked once more for each version of
// the job.
Live live_workloads(const View& view, const Object& app, const Object& job, Instant now) {
  const std::string ns(app.ns());
  if (const std::string prebuilt(prebuilt_name(app)); !prebuilt.empty()) {
    return read_live(view, api::kueue::kWorkload, {ns, prebuilt}, now, job.resource_version());
  }
  return list_live(view, api::kueue::kWorkload,
                   Labelled{.ns = ns, .label = fmt::format("{}={}", name::kJobUid, app.uid())}, now,
                   job.resource_version());
}

}  // namespace

Plan suspend_child(const View& view, const Adapter& adapter, const Integrations& settings,
                   const Object& job, Instant now) {
  if (is_suspended(adapter, job.body()) || adapter.outcome(job)) {
    return Plan::done();
  }
  const auto app = managing_app(view, settings, job);
  if (!app || !waits(*app) ||
      some_admitted(view.list(api::kueue::kWorkload,
                              {.index = "owner", .index_value = std::string(app->uid())}))) {
    return Plan::done();
  }
  const Live wrapper = read_live(view, kAppWrapper, app->key(), now, job.resource_version());
  const Live workloads = live_workloads(view, *app, job, now);
  Plan plan;
  if (wrapper.error || workloads.error) {
    plan.wake_at(now + kAskAgain);
    return plan;
  }
  if (!wrapper.known || !workloads.known || wrapper.absent() ||
      wrapper.objects.front().uid() != app->uid() || !waits(wrapper.objects.front()) ||
      some_admitted(workloads.objects)) {
    return plan;
  }
  Value wanted = job.body();
  set_suspended(adapter, wanted, true);
  Value merge = make_merge_patch(job.body(), wanted);
  if (merge.is_null()) {
    return plan;
  }
  plan.then(Patch{
      .target = {adapter.kind, job.key()}, .merge = std::move(merge), .guard = guard_for(job)});
  tell(plan, *adapter.kind, job, "Suspended", "Kueue managed child job suspended");
  return plan;
}

}  // namespace athanor::kueue::jobs
