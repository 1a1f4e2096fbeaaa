// SPDX-License-Identifier: Apache-2.0
// AppWrappers where their integration does not run: a queue label has no effect, and one Warning
// event says so. Another process may run the integration, so the lack of a Workload counts.
#include <fmt/core.h>

#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/model/one_event.hpp"

namespace athanor::kueue::jobs {
namespace {

// Time of an integration to make the Workload.
constexpr Duration kPatience = std::chrono::seconds(10);

// Returns true if an integration would make a Workload for it.
bool asks_for_quota(const Object& app) {
  const std::string_view phase = app.status()["phase"].as_string();
  const std::string_view manager = app.spec()["managedBy"].as_string();
  return !app.deleting() && !app.label(name::kQueue).empty() && !is_system_namespace(app.ns()) &&
         prebuilt_name(app).empty() && (manager.empty() || manager == kAppWrapperController) &&
         phase != "Succeeded" && phase != "Failed";
}

Plan reconcile_unqueued(const View& view, const Key& key, Instant now) {
  const auto app = view.get(kAppWrapper, key);
  Plan plan;
  if (!app || !asks_for_quota(*app) ||
      !view.list(api::kueue::kWorkload, {.index = "owner", .index_value = std::string(app->uid())})
           .empty() ||
      is_below_managed(view, integrations_of(view), *app)) {
    return plan;
  }
  if (const auto created = app->creation_time(); created && now < *created + kPatience) {
    plan.wake_at(*created + kPatience);
    return plan;
  }
  plan.then(one_event({&kAppWrapper, key}, *app, "unsupported-integration",
                      "UnsupportedIntegration",
                      fmt::format("no controller has made a Workload of this AppWrapper: label {} "
                                  "has no effect without appwrapper-kueue",
                                  name::kQueue),
                      now));
  return plan;
}

}  // namespace

const Operator& unqueued_operator() {
  static const std::vector<const Kind*> kReads = [] {
    std::vector<const Kind*> reads(ancestor_kinds().begin(), ancestor_kinds().end());
    reads.insert(reads.end(), {&api::kueue::kWorkload, &api::kNamespace, &api::kConfigMap});
    return reads;
  }();
  static const Kind* const kWrites[] = {&api::kEvent};
  static const Access kAccess[] = {{&api::kEvent, "create"}};
  static const Operator kOperator{.name = "kueue-unqueued-appwrapper",
                                  .primary = &kAppWrapper,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_unqueued,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue::jobs
