// SPDX-License-Identifier: Apache-2.0
// LeaderWorkerSet: groups of a leader and its workers, which run until they are deleted.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"

namespace athanor::wrapped {
namespace {

std::vector<Member> wanted_group_pods(const Object& set) {
  const Value& group = set.spec()["leaderWorkerTemplate"];
  const std::int64_t size = count_of(group["size"]);
  std::vector<Member> pods;
  for (std::int64_t g = 0; g < count_of(set.spec()["replicas"]); ++g) {
    for (std::int64_t i = 0; i < size; ++i) {
      const bool leads = i == 0 && group["leaderTemplate"].is_object();
      const std::string name =
          i == 0 ? fmt::format("{}-{}", set.name(), g) : fmt::format("{}-{}-{}", set.name(), g, i);
      pods.push_back(
          member_of(api::kPod, set, name, leads ? group["leaderTemplate"] : group["workerTemplate"],
                    {{"leaderworkerset.sigs.k8s.io/name", std::string(set.name())},
                     {"leaderworkerset.sigs.k8s.io/group-index", fmt::format("{}", g)},
                     {"leaderworkerset.sigs.k8s.io/worker-index", fmt::format("{}", i)}}));
    }
  }
  return pods;
}

Plan reconcile_leader_worker_set(const View& view, const Key& key, Instant now) {
  const auto set = view.get(kLeaderWorkerSet, key);
  if (!set || set->deleting()) {
    return Plan::done();
  }
  const std::vector<Object> pods = present(view, api::kPod, *set);
  const std::vector<Member> wanted = wanted_group_pods(*set);
  Plan plan;
  const bool all = tally(pods).running >= static_cast<std::int64_t>(wanted.size());
  const std::int64_t replicas = count_of(set->spec()["replicas"]);
  write_status(
      kLeaderWorkerSet, *set, {{.type = "Available", .reason = "AllGroupsReady", .truth = all}},
      Value::object({{"replicas", replicas}, {"readyReplicas", all ? replicas : 0}}), now, plan);
  keep(view, api::kPod, *set, wanted, pods, plan);
  return plan;
}

}  // namespace

const Operator& leader_worker_set_operator() {
  static const Kind* const kReads[] = {&kLeaderWorkerSet, &api::kPod};
  static const Kind* const kWrites[] = {&kLeaderWorkerSet, &api::kPod, &api::kEvent};
  static const Access kAccess[] = {{&kLeaderWorkerSet, "patch", "status"},
                                   {&kLeaderWorkerSet, "update", "finalizers"},
                                   {&api::kPod, "create delete"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "wrapped-leaderworkerset",
                                  .primary = &kLeaderWorkerSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_leader_worker_set,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::wrapped
