// SPDX-License-Identifier: Apache-2.0
// Pods without another remover.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"

namespace athanor::workloads {
namespace {

// A node may be registered after the first pods name it.
constexpr Duration kQuarantine = std::chrono::seconds(40);
constexpr const char* kOutOfService = "node.kubernetes.io/out-of-service";

void collect(const Object& pod, Instant now, const char* message, Plan& plan) {
  if (!is_over(pod)) {
    Value conditions = pod.status()["conditions"];
    if (message != nullptr) {
      set_condition(conditions,
                    {.type = "DisruptionTarget",
                     .status = "True",
                     .reason = "DeletionByPodGC",
                     .message = message},
                    now);
    }
    plan.then(Status{.target = {&api::kPod, pod.key()},
                     .status = Value::object({{"phase", "Failed"}, {"conditions", conditions}}),
                     .guard = {.uid = std::string(pod.uid())}});
  }
  plan.then(Delete{.target = {&api::kPod, pod.key()},
                   .guard = {.uid = std::string(pod.uid())},
                   .grace_seconds = 0});
}

bool is_out_of_service(const Object& node) {
  return !condition_is(node.status()["conditions"], "Ready", "True") &&
         std::ranges::any_of(node.spec()["taints"].items(), [](const Value& taint) {
           return taint["key"].as_string() == kOutOfService;
         });
}

Plan collect_pod(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto pod = view.get(api::kPod, key);
  if (!pod) {
    return plan;
  }
  const std::string node = pod->spec()["nodeName"].str();
  if (node.empty()) {
    if (pod->deleting()) {
      collect(*pod, now, nullptr, plan);
    }
    return plan;
  }
  if (const auto object = view.get(api::kNode, {"", node})) {
    if (pod->deleting() && is_out_of_service(*object)) {
      collect(*pod, now, nullptr, plan);
    }
    return plan;
  }
  const Instant due = pod->creation_time().value_or(now) + kQuarantine;
  if (now < due) {
    plan.wake_at(due);
  } else if (read_live(view, api::kNode, {"", node}, now).absent()) {
    collect(*pod, now, "PodGC: node no longer exists", plan);
  }
  return plan;
}

// kube-controller-manager's --terminated-pod-gc-threshold.
constexpr std::int64_t kThreshold = 12'500;
constexpr std::size_t kMostDeletes = 400;
constexpr std::string_view kTerminated = "terminated";

std::vector<std::string> terminated_values(const Object& pod) {
  return is_over(pod) && !pod.deleting() ? std::vector{std::string(kTerminated)}
                                         : std::vector<std::string>{};
}

std::string one_group(const Object& /*pod*/) {
  return {};
}
std::string age_of(const Object& pod) {
  return pod.metadata()["creationTimestamp"].str();
}

// Of terminated pods, the oldest go when there are too many.
Plan reconcile_terminated(const View& view, const Key& /*key*/, Instant /*now*/) {
  Plan plan;
  const Select terminated{.index = std::string(kTerminated),
                          .index_value = std::string(kTerminated)};
  const std::int64_t most = view.config("podGarbage")["terminatedThreshold"].as_int(kThreshold);
  const std::int64_t excess = view.count(api::kPod, terminated) - most;
  if (excess <= 0) {
    return plan;
  }
  const Ranking by_age{.group = one_group, .place = age_of};
  const std::size_t limit = std::min(kMostDeletes, static_cast<std::size_t>(excess));
  for (const Object& pod : view.ranked(api::kPod, terminated, by_age, "", nullptr, limit)) {
    plan.then(Delete{.target = {&api::kPod, pod.key()},
                     .guard = {.uid = std::string(pod.uid())},
                     .grace_seconds = 0});
  }
  return plan;
}

}  // namespace

const Operator& terminated_pods_operator() {
  static const Kind* const kKinds[] = {&api::kPod};
  static const athanor::Index kIndexes[] = {{&api::kPod, kTerminated, terminated_values}};
  static const Operator kOperator{
      .name = "terminated-pod-garbage-controller",
      .primary = &api::kPod,
      .reads = kKinds,
      .writes = kKinds,
      .indexes = kIndexes,
      .reconcile = reconcile_terminated,
      .singleton = true,
      .user = "system:serviceaccount:kube-system:pod-garbage-collector"};
  return kOperator;
}

const Operator& pod_garbage_operator() {
  static const Kind* const kReads[] = {&api::kPod, &api::kNode};
  static const Kind* const kWrites[] = {&api::kPod};
  static const Operator kOperator{
      .name = "pod-garbage-collector-controller",
      .primary = &api::kPod,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = collect_pod,
      .user = "system:serviceaccount:kube-system:pod-garbage-collector"};
  return kOperator;
}

}  // namespace athanor::workloads
