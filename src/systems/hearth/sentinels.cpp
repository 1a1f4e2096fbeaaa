// SPDX-License-Identifier: Apache-2.0
// Finding the sentinels of a cluster and the workloads on it; and sentinels that are not wanted any
// more.
#include <algorithm>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/lock.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/sentinel_names.hpp"

namespace athanor::hearth {

std::string sentinel_name(const Settings& settings, const std::string& cluster) {
  return settings.lock_prefix + cluster;
}

bool is_sentinel(const Object& job, const std::string& cluster) {
  return job.spec()["lockOnly"].as_bool() && job.spec()["cluster"].as_string() == cluster;
}

Sentinels live_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                         Instant now, std::string_view seen) {
  Sentinels found;
  for (const std::string& one :
       {sentinel_name(settings, cluster), std::string(name::kUpstreamLockPrefix) + cluster}) {
    Live live = read_live(view, api::kFournosJob, {settings.execution_namespace, one}, now, seen);
    found.known = found.known && live.known;
    if (live.error) {
      found.error = std::move(live.error);
    }
    for (Object& job : live.objects) {
      if (is_sentinel(job, cluster)) {
        found.jobs.push_back(std::move(job));
      }
    }
  }
  return found;
}

Sentinels sentinels_of(const View& view, const Settings& settings, const std::string& cluster,
                       Instant now, std::string_view seen) {
  if (unreadable(view, api::kFournosJob, settings.execution_namespace)) {
    return live_sentinels(view, settings, cluster, now, seen);
  }
  const std::string& ns = settings.execution_namespace;
  Sentinels found{.jobs =
                      view.list(api::kFournosJob,
                                {.ns = ns, .labels = {{std::string(name::kLockLabel), cluster}}})};
  for (const std::string& other :
       {sentinel_name(settings, cluster), std::string(name::kUpstreamLockPrefix) + cluster}) {
    const auto job = view.get(api::kFournosJob, {ns, other});
    const bool known = std::ranges::any_of(
        found.jobs, [&](const Object& one) { return one.name() == std::string_view(other); });
    if (job && !known && is_sentinel(*job, cluster)) {
      found.jobs.push_back(*job);
    }
  }
  return found;
}

Sentinels sentinels_of(const Context& context) {
  return sentinels_of(context.view, context.settings, context.name(), context.now,
                      context.object().resource_version());
}

Sentinels live_sentinels(const Context& context) {
  return live_sentinels(context.view, context.settings, context.name(), context.now,
                        context.object().resource_version());
}

Plan drop_sentinels(const std::vector<Object>& sentinels) {
  Plan plan;
  for (const Object& sentinel : sentinels) {
    if (!sentinel.deleting()) {
      plan.then(Delete{.target = {&api::kFournosJob, sentinel.key()},
                       .guard = {.uid = std::string(sentinel.uid())}});
    }
  }
  return plan;
}

// ---- workloads by flavor

namespace {

std::vector<std::string> flavors_of(const Object& workload) {
  std::vector<std::string> flavors;
  const Value& conditions = workload.status()["conditions"];
  if (condition_is(conditions, "Finished", "True")) {
    return flavors;
  }
  const Value& admission = workload.status()["admission"];
  for (const Value& pod_set : admission["podSetAssignments"].items()) {
    for (const Member& flavor : pod_set["flavors"].members()) {
      flavors.push_back(flavor.value.str());
    }
  }
  std::ranges::sort(flavors);
  const auto repeated = std::ranges::unique(flavors);
  flavors.erase(repeated.begin(), repeated.end());
  return flavors;
}

// ---- sentinels without a cluster

bool is_ours(const Object& job, const Settings& settings, const std::string& cluster) {
  return job.annotation(name::kLockOf) == settings.ns + "/" + cluster ||
         job.name() == sentinel_name(settings, cluster) ||
         job.name() == std::string(name::kUpstreamLockPrefix) + cluster;
}

Plan collect(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  if (key.ns != settings.execution_namespace) {
    return Plan::done();
  }
  const auto job = view.get(api::kFournosJob, key);
  const std::string cluster(job ? job->label(name::kLockLabel) : std::string_view());
  if (cluster.empty() || job->deleting() || !is_sentinel(*job, cluster) ||
      !is_ours(*job, settings, cluster) || view.get(api::kFournosCluster, {settings.ns, cluster})) {
    return Plan::done();
  }
  const Live live = read_live(view, api::kFournosCluster, {settings.ns, cluster}, now);
  Plan plan;
  if (!live.known) {
    plan.wake_at(now + kLiveAge);
  } else if (live.absent()) {
    plan = drop_sentinels({*job});
  }
  return plan;
}

constexpr const Kind* kSentinelReads[] = {&api::kFournosCluster};
constexpr const Kind* kSentinelWrites[] = {&api::kFournosJob};
constexpr Access kSentinelAccess[] = {{&api::kFournosJob, "delete"},
                                      {&api::kFournosCluster, "get"}};

}  // namespace

const Index& flavor_index() {
  static constexpr Index kIndex{
      .kind = &api::kueue::kWorkload, .name = "hearth-flavor", .values = flavors_of};
  return kIndex;
}

std::vector<Object> workloads_on(const View& view, const std::string& cluster) {
  return view.list(api::kueue::kWorkload,
                   {.index = std::string(flavor_index().name), .index_value = cluster});
}

std::optional<Error> workloads_hidden(const View& view, const Settings& settings) {
  constexpr int kNoSuchKind = 404;
  auto error = unreadable(view, api::kueue::kWorkload, settings.execution_namespace);
  return error && error->code != kNoSuchKind ? error : std::nullopt;
}

Plan drop_unlisted_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                             Instant now) {
  Plan plan;
  if (!unreadable(view, api::kFournosJob, settings.execution_namespace)) {
    return plan;
  }
  Sentinels found = live_sentinels(view, settings, cluster, now, {});
  if (!found.known && !found.error) {
    plan.wake_at(now + kLiveAge);
  }
  std::erase_if(found.jobs, [&](const Object& job) { return !is_ours(job, settings, cluster); });
  plan.merge(drop_sentinels(found.jobs));
  return plan;
}

const Operator& sentinel_operator() {
  static constexpr Operator kOperator{
      .name = "hearth-sentinels",
      .primary = &api::kFournosJob,
      .reads = kSentinelReads,
      .writes = kSentinelWrites,
      .reconcile = collect,
      // Whether there is a cluster is all that matters here.
      .overlooks = [](const Kind& kind, const Object& /*before*/,
                      const Object& /*after*/) { return &kind == &api::kFournosCluster; },
      .access = kSentinelAccess};
  return kOperator;
}

}  // namespace athanor::hearth
