// SPDX-License-Identifier: Apache-2.0
// LeaderWorkerSet: groups of a leader and its workers, which find each other by name and run until
// they are deleted.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"
#include "embedded/wrapped/peers.hpp"

namespace athanor::wrapped {
namespace {

constexpr std::string_view kSetName = "leaderworkerset.sigs.k8s.io/name";
constexpr std::string_view kGroupIndex = "leaderworkerset.sigs.k8s.io/group-index";

bool has_domain_per_group(const Object& set) {
  return set.spec()["networkConfig"]["subdomainPolicy"].as_string() == "UniquePerReplica";
}

// Returns the name of a group's leader.
std::string leader_of(const Object& set, std::int64_t group) {
  return fmt::format("{}-{}", set.name(), group);
}

// Returns the Service of a group: that of the set where all groups share it.
std::string domain_of(const Object& set, std::int64_t group) {
  return has_domain_per_group(set) ? leader_of(set, group) : std::string(set.name());
}

Member pod_of(const Object& set, std::int64_t group, std::int64_t index) {
  const Value& templates = set.spec()["leaderWorkerTemplate"];
  const bool leads = index == 0 && templates["leaderTemplate"].is_object();
  const std::string leader = leader_of(set, group);
  const std::string domain = domain_of(set, group);
  Member pod = member_of(api::kPod, set, index == 0 ? leader : fmt::format("{}-{}", leader, index),
                         leads ? templates["leaderTemplate"] : templates["workerTemplate"],
                         {{kSetName, std::string(set.name())},
                          {kGroupIndex, fmt::format("{}", group)},
                          {"leaderworkerset.sigs.k8s.io/worker-index", fmt::format("{}", index)}});
  Value& spec = pod.object.member("spec");
  spec.set("hostname", pod.name);
  spec.set("subdomain", domain);
  set_variables(spec,
                {{"LWS_LEADER_ADDRESS", fmt::format("{}.{}.{}", leader, domain, set.ns())},
                 {"LWS_GROUP_SIZE", fmt::format("{}", count_of(templates["size"]))},
                 {"LWS_WORKER_INDEX", fmt::format("{}", index)}},
                Place::First);
  return pod;
}

std::vector<Member> wanted_group_pods(const Object& set) {
  const std::int64_t size = count_of(set.spec()["leaderWorkerTemplate"]["size"]);
  std::vector<Member> pods;
  for (std::int64_t group = 0; group < count_of(set.spec()["replicas"]); ++group) {
    for (std::int64_t i = 0; i < size; ++i) {
      pods.push_back(pod_of(set, group, i));
    }
  }
  return pods;
}

void offer_services(const View& view, const Object& set, Plan& plan) {
  Labels selector{{kSetName, std::string(set.name())}};
  if (!has_domain_per_group(set)) {
    offer_service(view, set,
                  headless_service(set, {.name = domain_of(set, 0), .selector = selector}), plan);
    return;
  }
  std::vector<Member> services;
  for (std::int64_t group = 0; group < count_of(set.spec()["replicas"]); ++group) {
    Labels of_group = selector;
    of_group.emplace_back(kGroupIndex, fmt::format("{}", group));
    services.push_back(
        headless_service(set, {.name = domain_of(set, group), .selector = of_group}));
  }
  keep(view, api::kService, set, services, present(view, api::kService, set), plan);
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
  offer_services(view, *set, plan);
  keep(view, api::kPod, *set, wanted, pods, plan);
  return plan;
}

}  // namespace

const Operator& leader_worker_set_operator() {
  static const Kind* const kReads[] = {&kLeaderWorkerSet, &api::kPod, &api::kService};
  static const Kind* const kWrites[] = {&kLeaderWorkerSet, &api::kPod, &api::kService,
                                        &api::kEvent};
  static const Access kAccess[] = {{&kLeaderWorkerSet, "patch", "status"},
                                   {&kLeaderWorkerSet, "update", "finalizers"},
                                   {&api::kPod, "create delete"},
                                   {&api::kService, "create delete"},
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
