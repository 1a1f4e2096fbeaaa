// SPDX-License-Identifier: Apache-2.0
// Status of ClusterQueues and LocalQueues, and the finalizers of what is in use (docs/spec/kueue.md
// section 9).
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/fair_shares.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kInUse = api::kueue::kInUseFinalizer;
// Status is a report: the changes of a second are written together, as in the reference.
constexpr Duration kReportEvery = std::chrono::seconds(1);

// The reference's limit in the schema of a LocalQueue's status; a ClusterQueue lists all.
constexpr std::size_t kLocalFlavors = 16;

// Every declared flavor and resource, zeros included, in the order of the spec; `borrowed` only for
// ClusterQueues.
Value flavor_usage(const Object& cluster_queue, const std::map<FlavorResource, Amount>& use,
                   bool with_borrowed) {
  const bool in_cohort = !cluster_queue.spec()["cohortName"].as_string().empty();
  Value flavors = Value::list();
  for (const Value& group : cluster_queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      Value resources = Value::list();
      for (const Value& quota : flavor["resources"].items()) {
        const std::string name = quota["name"].str();
        const auto found = use.find({flavor["name"].str(), name});
        const Amount total = found == use.end() ? 0 : found->second;
        Value entry = Value::object({{"name", name}, {"total", amount_text(name, total)}});
        if (with_borrowed) {
          const Amount over =
              in_cohort ? std::max<Amount>(0, total - amount_of(name, quota["nominalQuota"])) : 0;
          entry.set("borrowed", amount_text(name, over));
        }
        resources.push_back(std::move(entry));
      }
      flavors.push_back(Value::object({{"name", flavor["name"]}, {"resources", resources}}));
    }
  }
  return flavors;
}

// For the status of a LocalQueue.
Value local_usage(const Object& cluster_queue, const std::map<FlavorResource, Amount>& use) {
  const Value all = flavor_usage(cluster_queue, use, false);
  const auto flavors = all.items();
  const auto first = flavors.first(std::min(flavors.size(), kLocalFlavors));
  return Value::list(std::vector<Value>(first.begin(), first.end()));
}

Value with_active(const Object& queue, std::string_view status, std::string_view reason,
                  std::string_view message, Instant now) {
  Value conditions = queue.status()["conditions"];
  set_condition(conditions,
                {.type = "Active",
                 .status = std::string(status),
                 .reason = std::string(reason),
                 .message = std::string(message),
                 .observed_generation = queue.generation()},
                now);
  return conditions;
}

void release_finalizer(const Kind& kind, const Object& object, Plan& plan) {
  Value kept = Value::list();
  for (const Value& finalizer : object.metadata()["finalizers"].items()) {
    if (finalizer.as_string() != kInUse) {
      kept.push_back(finalizer);
    }
  }
  plan.then(Patch{.target = {&kind, object.key()},
                  .merge = Value::object({{"metadata", Value::object({{"finalizers", kept}})}}),
                  .guard = {.uid = std::string(object.uid()),
                            .resource_version = std::string(object.resource_version())}});
}

bool shares_by_weight(const View& view) {
  return api::decode<Settings>(configured_section(view)).fair_sharing;
}

// status.fairSharing of a node; Null, which removes it, where queues do not share by weight.
Value fair_sharing_of(const Snapshot& snapshot, const QuotaTree& quota, QuotaTree::NodeId node) {
  return Value::object({{"weightedShare", FairShares(snapshot).share(quota, node).reported()}});
}

Plan reconcile_cluster_queue(const View& view, const Key& key, Instant now) {
  const auto object = view.get(api::kueue::kClusterQueue, key);
  if (!object) {
    return Plan::done();
  }
  Plan plan;
  const Tally tally = tally_of(view, reserved_in(key.name));
  if (object->deleting() && tally.reserving == 0 && object->has_finalizer(kInUse)) {
    release_finalizer(api::kueue::kClusterQueue, *object, plan);
    return plan;
  }
  const auto queues = read_queues(view);
  const Snapshot& snapshot = *queues;
  const ClusterQueue& queue = snapshot.cluster_queues.at(key.name);
  std::int64_t pending = 0;
  for (const auto& [local_key, local] : snapshot.local_queues) {
    if (local.cluster_queue == key.name) {
      pending += view.count(api::kueue::kWorkload, waiting_in(local_key));
    }
  }
  Value status =
      Value::object({{"pendingWorkloads", pending},
                     {"reservingWorkloads", tally.reserving},
                     {"admittedWorkloads", tally.admitted},
                     {"flavorsReservation", flavor_usage(*object, tally.reservation, true)},
                     {"flavorsUsage", flavor_usage(*object, tally.usage, true)}});
  Value fair_sharing;
  if (shares_by_weight(view)) {
    QuotaTree quota = snapshot.quota;
    for (const auto& [cell, amount] : tally.reservation) {
      quota.add_usage(queue.node, cell, amount);
    }
    fair_sharing = fair_sharing_of(snapshot, quota, queue.node);
  }
  status.set("fairSharing", std::move(fair_sharing));
  status.set("conditions",
             queue.active() ? with_active(*object, "True", "Ready", "Can admit new workloads", now)
                            : with_active(*object, "False", queue.inactive_reason,
                                          queue.inactive_message, now));
  plan.then(Status{.target = {&api::kueue::kClusterQueue, key},
                   .status = std::move(status),
                   .guard = {.uid = std::string(object->uid())}});
  return plan;
}

Plan reconcile_local_queue(const View& view, const Key& key, Instant now) {
  const auto object = view.get(api::kueue::kLocalQueue, key);
  if (!object) {
    return Plan::done();
  }
  const auto queues = read_queues(view);
  const Snapshot& snapshot = *queues;
  const LocalQueue& local = snapshot.local_queues.at(key);
  const auto queue = snapshot.cluster_queues.find(local.cluster_queue);
  Value conditions;
  if (local.stopped) {
    conditions = with_active(*object, "False", "Stopped", "LocalQueue is stopped", now);
  } else if (queue == snapshot.cluster_queues.end()) {
    conditions = with_active(*object, "False", "ClusterQueueDoesNotExist",
                             "Can't submit new workloads to clusterQueue", now);
  } else if (!queue->second.active()) {
    conditions = with_active(*object, "False", "ClusterQueueIsInactive",
                             "Can't submit new workloads to clusterQueue", now);
  } else {
    conditions =
        with_active(*object, "True", "Ready", "Can submit new workloads to localQueue", now);
  }
  const Tally tally = tally_of(view, reserved_local(key));
  const std::int64_t pending = view.count(api::kueue::kWorkload, waiting_in(key));
  Value status = Value::object({{"conditions", conditions},
                                {"pendingWorkloads", pending},
                                {"reservingWorkloads", tally.reserving},
                                {"admittedWorkloads", tally.admitted}});
  if (queue == snapshot.cluster_queues.end() || !queue->second.active()) {
    // An inactive ClusterQueue gives nothing.
    status.set("flavorsReservation", nullptr);
    status.set("flavorsUsage", nullptr);
  } else {
    status.set("flavorsReservation", local_usage(queue->second.object, tally.reservation));
    status.set("flavorsUsage", local_usage(queue->second.object, tally.usage));
  }
  Plan plan;
  plan.then(Status{.target = {&api::kueue::kLocalQueue, key},
                   .status = std::move(status),
                   .guard = {.uid = std::string(object->uid())}});
  return plan;
}

Plan reconcile_cohort(const View& view, const Key& key, Instant /*now*/) {
  const auto cohort = view.get(api::kueue::kCohort, key);
  if (!cohort) {
    return Plan::done();
  }
  Value fair_sharing;
  if (shares_by_weight(view)) {
    const auto queues = read_queues(view);
    QuotaTree quota = queues->quota;
    count_usage(*queues, quota, view);
    fair_sharing = fair_sharing_of(*queues, quota, queues->cohorts.at(key.name));
  }
  Plan plan;
  plan.then(Status{.target = {&api::kueue::kCohort, key},
                   .status = Value::object({{"fairSharing", std::move(fair_sharing)}}),
                   .guard = {.uid = std::string(cohort->uid())}});
  return plan;
}

bool names_flavor(const Object& quota_holder, std::string_view flavor) {
  for (const Value& group : quota_holder.spec()["resourceGroups"].items()) {
    for (const Value& entry : group["flavors"].items()) {
      if (entry["name"].as_string() == flavor) {
        return true;
      }
    }
  }
  return false;
}

bool names_check(const Object& cluster_queue, std::string_view check) {
  return std::ranges::any_of(
      cluster_queue.spec().at({"admissionChecksStrategy", "admissionChecks"}).items(),
      [&](const Value& entry) { return entry["name"].as_string() == check; });
}

Plan reconcile_flavor(const View& view, const Key& key, Instant /*now*/) {
  const auto flavor = view.get(api::kueue::kResourceFlavor, key);
  Plan plan;
  if (flavor && flavor->deleting() && flavor->has_finalizer(kInUse) &&
      std::ranges::none_of(view.list(api::kueue::kClusterQueue),
                           [&](const Object& queue) { return names_flavor(queue, key.name); })) {
    release_finalizer(api::kueue::kResourceFlavor, *flavor, plan);
  }
  return plan;
}

// What no controller here answers says so, and keeps its queues inactive
// (docs/spec/kueue.md section 15).
bool is_unsupported(std::string_view controller) {
  return controller == "kueue.x-k8s.io/multikueue" ||
         controller == "kueue.x-k8s.io/provisioning-request";
}

Plan reconcile_check(const View& view, const Key& key, Instant now) {
  const auto check = view.get(api::kueue::kAdmissionCheck, key);
  Plan plan;
  if (!check) {
    return plan;
  }
  if (check->deleting()) {
    if (check->has_finalizer(kInUse) &&
        std::ranges::none_of(view.list(api::kueue::kClusterQueue),
                             [&](const Object& queue) { return names_check(queue, key.name); })) {
      release_finalizer(api::kueue::kAdmissionCheck, *check, plan);
    }
    return plan;
  }
  if (const std::string_view controller = check->spec()["controllerName"].as_string();
      is_unsupported(controller)) {
    const std::string message =
        fmt::format("controller {} is not available in the embedded engine", controller);
    plan.then(Status{
        .target = {&api::kueue::kAdmissionCheck, key},
        .status = Value::object(
            {{"conditions", with_active(*check, "False", "UnsupportedController", message, now)}}),
        .guard = {.uid = std::string(check->uid())}});
  }
  return plan;
}

bool overlooks(const Kind& kind, const Object& before, const Object& after) {
  if (&kind == &api::kConfigMap) {
    return before.body()["data"] == after.body()["data"];
  }
  return &kind != &api::kueue::kWorkload && makes_same_snapshot(kind, before, after);
}

std::span<const Kind* const> queue_kinds() {
  static const Kind* const kKinds[] = {&api::kueue::kClusterQueue, &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort, &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck};
  return kKinds;
}

std::span<const Kind* const> queue_status_reads() {
  static const Kind* const kReads[] = {
      &api::kueue::kWorkload, &api::kueue::kClusterQueue,   &api::kueue::kLocalQueue,
      &api::kueue::kCohort,   &api::kueue::kResourceFlavor, &api::kueue::kAdmissionCheck,
      &api::kConfigMap};
  return kReads;
}

std::span<const Index> queue_indexes() {
  static const Index kIndexes[] = {waiting_in_index(), reserved_index(), reserved_local_index()};
  return kIndexes;
}

}  // namespace

const Operator& cluster_queue_operator() {
  static const Kind* const kWrites[] = {&api::kueue::kClusterQueue};
  static const Access kAccess[] = {{&api::kueue::kClusterQueue, "patch"},
                                   {&api::kueue::kClusterQueue, "patch", "status"}};
  static const Operator kOperator{.name = "kueue-clusterqueue",
                                  .primary = &api::kueue::kClusterQueue,
                                  .reads = queue_status_reads(),
                                  .writes = kWrites,
                                  .indexes = queue_indexes(),
                                  .reconcile = reconcile_cluster_queue,
                                  .pause = kReportEvery,
                                  .overlooks = overlooks,
                                  .small = queue_kinds(),
                                  .access = kAccess};
  return kOperator;
}

const Operator& local_queue_operator() {
  static const Kind* const kWrites[] = {&api::kueue::kLocalQueue};
  static const Access kAccess[] = {{&api::kueue::kLocalQueue, "patch", "status"}};
  static const Operator kOperator{.name = "kueue-localqueue",
                                  .primary = &api::kueue::kLocalQueue,
                                  .reads = queue_status_reads(),
                                  .writes = kWrites,
                                  .indexes = queue_indexes(),
                                  .reconcile = reconcile_local_queue,
                                  .pause = kReportEvery,
                                  .overlooks = overlooks,
                                  .small = queue_kinds(),
                                  .access = kAccess};
  return kOperator;
}

const Operator& cohort_operator() {
  static const Kind* const kWrites[] = {&api::kueue::kCohort};
  static const Access kAccess[] = {{&api::kueue::kCohort, "patch", "status"}};
  static const Operator kOperator{.name = "kueue-cohort",
                                  .primary = &api::kueue::kCohort,
                                  .reads = queue_status_reads(),
                                  .writes = kWrites,
                                  .indexes = queue_indexes(),
                                  .reconcile = reconcile_cohort,
                                  .pause = kReportEvery,
                                  .overlooks = overlooks,
                                  .small = queue_kinds(),
                                  .access = kAccess};
  return kOperator;
}

const Operator& resource_flavor_operator() {
  static const Kind* const kReads[] = {&api::kueue::kResourceFlavor, &api::kueue::kClusterQueue};
  static const Kind* const kWrites[] = {&api::kueue::kResourceFlavor};
  static const Access kAccess[] = {{&api::kueue::kResourceFlavor, "patch"}};
  static const Operator kOperator{.name = "kueue-resourceflavor",
                                  .primary = &api::kueue::kResourceFlavor,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_flavor,
                                  .small = queue_kinds(),
                                  .access = kAccess};
  return kOperator;
}

const Operator& admission_check_operator() {
  static const Kind* const kReads[] = {&api::kueue::kAdmissionCheck, &api::kueue::kClusterQueue};
  static const Kind* const kWrites[] = {&api::kueue::kAdmissionCheck};
  static const Access kAccess[] = {{&api::kueue::kAdmissionCheck, "patch"},
                                   {&api::kueue::kAdmissionCheck, "patch", "status"}};
  static const Operator kOperator{.name = "kueue-admissioncheck",
                                  .primary = &api::kueue::kAdmissionCheck,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_check,
                                  .small = queue_kinds(),
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
