// SPDX-License-Identifier: Apache-2.0
// Kinds that are not integrated: an object with a queue label runs ungated, and one Warning event
// says so (docs/spec/kueue.md 1). The same for integrated kinds that the configuration leaves out.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/jobs/unsupported.hpp"
#include "embedded/kueue/model/one_event.hpp"

namespace athanor::kueue::jobs {
namespace {

Plan warn(const View& view, const Kind& kind, const Key& key, Instant now) {
  const auto object = view.get(kind, key);
  Plan plan;
  // Below a managed object its pods run within that one's quota.
  if (object && !object->deleting() && is_unsupported(kind, *object) &&
      !is_below_managed(view, integrations_of(view), *object)) {
    plan.then(one_event({&kind, key}, *object, "unsupported-integration", "UnsupportedIntegration",
                        unsupported_text(kind), now));
  }
  return plan;
}

template <const Kind* kind>
Plan reconcile_unsupported(const View& view, const Key& key, Instant now) {
  return warn(view, *kind, key, now);
}

template <const Kind* kind>
Operator make(std::string_view name) {
  static const std::vector<const Kind*> kReads = [] {
    std::vector<const Kind*> reads(ancestor_kinds().begin(), ancestor_kinds().end());
    reads.push_back(&api::kNamespace);
    reads.push_back(&api::kConfigMap);
    if (std::ranges::find(reads, kind) == reads.end()) {
      reads.push_back(kind);
    }
    return reads;
  }();
  static const Kind* const kWrites[] = {&api::kEvent};
  static const Access kAccess[] = {{&api::kEvent, "create"}};
  return {.name = name,
          .primary = kind,
          .reads = kReads,
          .writes = kWrites,
          .reconcile = reconcile_unsupported<kind>,
          .access = kAccess};
}

}  // namespace

std::string unsupported_text(const Kind& kind) {
  return fmt::format(
      "{} is not integrated with the queueing: label {} has no effect, and {} without quota",
      kind.name, name::kQueue, &kind == &api::kPod ? "it runs" : "its pods run");
}

std::span<const Kind* const> unsupported_kinds() {
  static constexpr const Kind* kKinds[] = {
      &api::kDeployment, &api::kStatefulSet, &api::kReplicaSet, &api::kDaemonSet, &api::kCronJob,
      &kLeaderWorkerSet, &kRayService,       &kTrainJob,        &kMpiJob,         &kTfJob,
      &kXgBoostJob,      &kPaddleJob,        &kJaxJob};
  return kKinds;
}

bool is_unsupported(const Kind& kind, const Object& object) {
  return !object.label(name::kQueue).empty() &&
         (&kind != &api::kReplicaSet || !object.controller());
}

std::span<const Operator* const> unsupported_operators() {
  static const Operator kOperators[] = {
      make<&api::kDeployment>("kueue-unsupported-deployment"),
      make<&api::kStatefulSet>("kueue-unsupported-statefulset"),
      make<&api::kReplicaSet>("kueue-unsupported-replicaset"),
      make<&api::kDaemonSet>("kueue-unsupported-daemonset"),
      make<&api::kCronJob>("kueue-unsupported-cronjob"),
      make<&kLeaderWorkerSet>("kueue-unsupported-leaderworkerset"),
      make<&kRayService>("kueue-unsupported-rayservice"),
      make<&kTrainJob>("kueue-unsupported-trainjob"),
      make<&kMpiJob>("kueue-unsupported-mpijob"),
      make<&kTfJob>("kueue-unsupported-tfjob"),
      make<&kXgBoostJob>("kueue-unsupported-xgboostjob"),
      make<&kPaddleJob>("kueue-unsupported-paddlejob"),
      make<&kJaxJob>("kueue-unsupported-jaxjob")};
  static const std::vector<const Operator*> kAll = [] {
    std::vector<const Operator*> all;
    for (const Operator& one : kOperators) {
      all.push_back(&one);
    }
    return all;
  }();
  return kAll;
}

}  // namespace athanor::kueue::jobs
