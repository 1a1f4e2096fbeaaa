// SPDX-License-Identifier: Apache-2.0
// A lab serves every namespace with access to the queues, with pipelines, Secrets and a LocalQueue
// of its own. A job elsewhere gets an event that says why nothing happens.
#include <fmt/format.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {
namespace {

// Reports once that no controller serves the job's namespace.
Plan report_unserved(const View& view, const Settings& settings, const Key& key) {
  const auto job = view.get(api::kFournosJob, key);
  Plan plan;
  if (job && !job->deleting() && job->status()["phase"].is_null()) {
    plan.then(Emit{.about = {&api::kFournosJob, key},
                   .about_uid = std::string(job->uid()),
                   .type = "Warning",
                   .reason = "NamespaceNotServed",
                   .note = fmt::format("jobs run in namespace {} and in namespaces with label "
                                       "{}=true: kubectl label namespace {} {}=true",
                                       settings.workload_namespace, kQueueAccessLabel, key.ns,
                                       kQueueAccessLabel)});
  }
  return plan;
}

Plan reconcile_labelled(const View& view, const Key& key, Instant now) {
  auto settings = api::decode<Settings>(view.config("fournos"));
  if (key.ns == settings.workload_namespace) {
    return Plan::done();
  }
  if (!is_labelled_elsewhere(view, settings, key.ns)) {
    return report_unserved(view, settings, key);
  }
  settings.workload_namespace = key.ns;
  return reconcile_job(view, key, settings, now);
}

// Makes the LocalQueue through which the namespace reaches the queue of the jobs.
Plan open_queue(const View& view, const Key& key, Instant /*now*/) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  const Key queue{key.name, settings.local_queue};
  if (!is_labelled_elsewhere(view, settings, key.name) ||
      !view.get(api::kueue::kClusterQueue, {"", settings.local_queue}) ||
      view.get(api::kueue::kLocalQueue, queue)) {
    return Plan::done();
  }
  Plan plan;
  plan.then(
      Create{.target = {&api::kueue::kLocalQueue, queue},
             .object = Value::object(
                 {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                  {"kind", "LocalQueue"},
                  {"metadata", Value::object({{"name", queue.name}, {"namespace", queue.ns}})},
                  {"spec", Value::object({{"clusterQueue", settings.local_queue}})}})});
  return plan;
}

constexpr const Kind* kLabelledJobReads[] = {&api::kFournosJob,
                                             &api::kNamespace,
                                             &api::kueue::kWorkload,
                                             &api::kueue::kResourceFlavor,
                                             &api::kueue::kClusterQueue,
                                             &api::kueue::kWorkloadPriorityClass,
                                             &api::kPipelineRun,
                                             &api::kPipeline,
                                             &api::kFournosCluster,
                                             &api::kJob,
                                             &api::kSecret};
constexpr const Kind* kLabelledJobWrites[] = {&api::kFournosJob, &api::kueue::kWorkload,
                                              &api::kPipelineRun, &api::kJob, &api::kSecret};
constexpr const Kind* kQueueReads[] = {&api::kNamespace, &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue};
constexpr const Kind* kQueueWrites[] = {&api::kueue::kLocalQueue};
constexpr Access kQueueAccess[] = {{&api::kueue::kLocalQueue, "create"}};

constexpr Operator kQueueOpener{.name = "fournos-labelled-queues",
                                .primary = &api::kNamespace,
                                .reads = kQueueReads,
                                .writes = kQueueWrites,
                                .reconcile = open_queue,
                                .access = kQueueAccess};

const Operator& labelled_job_operator() {
  static const Operator kOperator{
      .name = "fournos-labelled",
      .primary = &api::kFournosJob,
      .reads = kLabelledJobReads,
      .writes = kLabelledJobWrites,
      .reconcile = reconcile_labelled,
      .sees_all = true,
      .backoff = {.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)},
      .small = fournosjob_operator().small,
      .access = fournosjob_operator().access,
      .log_subject = "Job"};
  return kOperator;
}

}  // namespace

bool is_labelled_elsewhere(const View& view, const Settings& settings, std::string_view ns) {
  if (ns == settings.workload_namespace) {
    return false;
  }
  const auto found = view.get(api::kNamespace, {"", std::string(ns)});
  return found && found->label(kQueueAccessLabel) == "true";
}

std::span<const Operator* const> labelled_operators() {
  static const std::vector<const Operator*> kAll = [] {
    std::vector<const Operator*> all{&labelled_job_operator(), &kQueueOpener};
    const auto collectors = labelled_gc_operators();
    all.insert(all.end(), collectors.begin(), collectors.end());
    return all;
  }();
  return kAll;
}

}  // namespace athanor::fournos
