// SPDX-License-Identifier: Apache-2.0
// Taking a cluster out, step by step. Each run looks how far it got: the condition Offboarding says
// it to people, and to the operator of the ClusterQueue, which closes the door as long as it is
// there and takes the flavor out from RemovingQuota on.
#include "systems/hearth/offboard.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "kube/text/quantity.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/flavor.hpp"
#include "systems/hearth/lock.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/secret_name.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

constexpr Duration kForceLimit = std::chrono::seconds(60);
constexpr std::size_t kMostNames = 5;

// What is left to be done, and what is waited for.
struct Progress {
  std::string_view reason{};
  std::string message{};
  bool blocked = false;
  Plan steps{};
  bool done = false;
};

std::string stage_of(const Context& context) {
  const Value& condition = stored_condition(context, condition::kOffboarding);
  return condition["reason"].str();
}

// Drain becomes Force once fournos.dev/drain-timeout has passed.
DeletionPolicy policy_now(const Context& context, Plan& plan) {
  const DeletionPolicy policy = deletion_policy(context.spec());
  const auto limit = parse_span(context.object().annotation(name::kDrainTimeout));
  const auto asked = context.object().deletion_time();
  if (policy != DeletionPolicy::Drain || !limit || !asked) {
    return policy;
  }
  const Instant end = end_of(*asked, *limit);
  if (end <= context.now) {
    return DeletionPolicy::Force;
  }
  plan.wake_at(end);
  return policy;
}

std::string waiting_text(const std::vector<Object>& workloads) {
  std::string text = fmt::format("waiting for {} workloads", workloads.size());
  for (std::size_t i = 0; i < std::min(workloads.size(), kMostNames); ++i) {
    text += (i == 0 ? ": " : ", ") + std::string(workloads[i].name());
  }
  return text;
}

// Force: ends the FournosJobs that own the workloads.
void terminate(const Context& context, const std::vector<Object>& workloads, Plan& steps) {
  for (const Object& workload : workloads) {
    const auto owner = workload.controller();
    if (!owner || owner->kind != api::kFournosJob.name) {
      continue;
    }
    const auto job = context.view.get(api::kFournosJob, {std::string(workload.ns()), owner->name});
    if (job && job->uid() == owner->uid) {
      Value merge = Value::object();
      merge.set_path({"spec", "shutdown"}, "Terminate");
      steps.then(Patch{.target = {&api::kFournosJob, job->key()},
                       .merge = std::move(merge),
                       .guard = {.uid = std::string(job->uid())}});
    }
  }
}

// Step 3.
bool is_unlocked(const Context& context, Progress& progress) {
  const Sentinels sentinels = sentinels_of(context);
  progress.steps.merge(drop_sentinels(sentinels.jobs));
  const bool never_locked = !context.status().locked && context.status().lock_job_name.empty();
  if (sentinels.jobs.empty() && (sentinels.known || (sentinels.error && never_locked))) {
    return true;
  }
  progress.message = sentinels.error
                         ? one_line("waiting for the lock's job, which cannot be read: " +
                                    sentinels.error->message)
                         : "waiting for the lock to be released";
  progress.steps.wake_at(context.now + kLiveAge);
  return false;
}

// Whether the ClusterQueue says that quota of the flavor is in use: what is left to look at where
// Workloads are hidden.
bool is_reserved(const Context& context) {
  const auto queue =
      context.view.get(api::kueue::kClusterQueue, {"", context.settings.cluster_queue});
  if (!queue) {
    return false;
  }
  for (const Value& flavor : queue->status()["flavorsReservation"].items()) {
    for (const Value& resource : flavor["resources"].items()) {
      const auto total = Quantity::parse(resource["total"]);
      if (flavor["name"].as_string() == context.name() && total && !total->is_zero()) {
        return true;
      }
    }
  }
  return false;
}

// Steps 3 and 4. True: nothing of ours runs there any more, or the time for it is over.
bool is_drained(const Context& context, DeletionPolicy policy, Progress& progress) {
  if (!is_unlocked(context, progress)) {
    return false;
  }
  if (policy == DeletionPolicy::Retain) {
    return true;
  }
  const std::vector<Object> workloads = workloads_on(context.view, context.name());
  const auto hidden = workloads_hidden(context.view, context.settings);
  if (hidden ? !is_reserved(context) : workloads.empty()) {
    return true;
  }
  progress.message =
      hidden ? one_line("waiting for running workloads, which cannot be listed: " + hidden->message)
             : waiting_text(workloads);
  if (policy == DeletionPolicy::Drain) {
    return false;
  }
  const auto since = read_time(context.object().annotation(name::kForcedSince));
  if (!since) {
    Value merge = Value::object();
    merge.set_path({"metadata", "annotations", name::kForcedSince}, format_time(context.now));
    progress.steps.then(
        Patch{.target = context.ref(), .merge = std::move(merge), .guard = {.uid = context.uid()}});
  } else if (*since + kForceLimit <= context.now) {
    return true;
  } else {
    progress.steps.wake_at(*since + kForceLimit);
  }
  terminate(context, workloads, progress.steps);
  return false;
}

// Step 5.
void notify_waiting_jobs(const Context& context, Plan& steps) {
  for (const Object& job :
       context.view.list(api::kFournosJob, {.ns = context.settings.execution_namespace})) {
    const std::string_view phase = job.status()["phase"].as_string();
    if (job.spec()["cluster"].as_string() == context.name() &&
        (phase == "Resolving" || phase == "Pending")) {
      steps.then(Emit{.about = {&api::kFournosJob, job.key()},
                      .about_uid = std::string(job.uid()),
                      .type = "Warning",
                      .reason = "ClusterOffboarded",
                      .note = fmt::format("cluster {} is being removed: the job will not start",
                                          context.name())});
    }
  }
}

bool names_flavor(const Object& queue, const std::string& flavor) {
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& entry : group["flavors"].items()) {
      if (entry["name"].as_string() == flavor) {
        return true;
      }
    }
  }
  return false;
}

struct Sharing {
  bool used = false;    // another FournosCluster names the Secret
  bool needed = false;  // and is there to stay
};
Sharing sharing_of(const Context& context) {
  Sharing sharing;
  for (const auto& other : context.view.list<api::FournosCluster>({.ns = context.settings.ns})) {
    if (other.object.uid() != context.object().uid() &&
        other.spec.kubeconfig_secret == context.spec().kubeconfig_secret) {
      sharing.used = true;
      sharing.needed = sharing.needed || !other.object.deleting();
    }
  }
  return sharing;
}

// Step 7. A Secret that another cluster uses stays as it is. It is marked nevertheless where it is
// the one that would make this cluster anew: the mark concerns discovery alone.
void mark_or_delete_secret(const Context& context, DeletionPolicy policy, Plan& steps) {
  const Ref ref{&api::kSecret,
                {context.settings.secrets_namespace, context.spec().kubeconfig_secret}};
  const auto secret = ref.key.name.empty() ? std::nullopt : context.view.get(*ref.kind, ref.key);
  if (!secret || secret->deleting()) {
    return;
  }
  const Sharing sharing = sharing_of(context);
  const Guard guard{.uid = std::string(secret->uid())};
  if (policy != DeletionPolicy::Retain && !sharing.used &&
      context.object().annotation(name::kDeleteKubeconfig) == "true") {
    steps.then(Delete{.target = ref, .guard = guard});
    return;
  }
  const bool makes_it =
      cluster_of_secret(secret->name(), context.settings.secret_pattern) == context.name();
  if (secret->annotation(name::kOffboarded).empty() && (!sharing.needed || makes_it)) {
    Value merge = Value::object();
    merge.set_path({"metadata", "annotations", name::kOffboarded}, format_time(context.now));
    steps.then(Patch{.target = ref, .merge = std::move(merge), .guard = guard});
  }
}

// Step 8. True: it is gone, or not ours to remove.
bool is_flavor_gone(const Context& context, Progress& progress) {
  const std::string cluster = context.name();
  const Ref ref{&api::kueue::kResourceFlavor, {"", cluster}};
  const auto flavor = context.view.get(*ref.kind, ref.key);
  if (!flavor || !is_our_flavor(*flavor, cluster)) {
    return true;
  }
  for (const Object& queue : context.view.list(api::kueue::kClusterQueue)) {
    if (names_flavor(queue, cluster)) {
      progress.blocked = true;
      progress.message =
          fmt::format("ResourceFlavor {} is still used by ClusterQueue {}", cluster, queue.name());
      return false;
    }
  }
  progress.message = fmt::format("waiting for ResourceFlavor {} to go", cluster);
  if (!flavor->deleting()) {
    progress.steps.then(Delete{.target = ref, .guard = {.uid = std::string(flavor->uid())}});
  }
  return false;
}

bool is_past(std::string_view stage, std::string_view reason) {
  constexpr std::string_view kOrder[] = {offboarding::kDraining, offboarding::kRemovingQuota,
                                         offboarding::kRemovingFlavor, offboarding::kBlocked,
                                         offboarding::kDone};
  const auto place = [&](std::string_view one) { return std::ranges::find(kOrder, one); };
  return place(stage) != std::end(kOrder) && place(stage) >= place(reason);
}

bool in_our_queue(const Context& context) {
  const auto queue =
      context.view.get(api::kueue::kClusterQueue, {"", context.settings.cluster_queue});
  return queue && !queue->deleting() && names_flavor(*queue, context.name());
}

Progress next_step(const Context& context) {
  Progress progress{.reason = offboarding::kDraining};
  const std::string stage = stage_of(context);
  const DeletionPolicy policy = policy_now(context, progress.steps);
  const bool was_drained = is_past(stage, offboarding::kRemovingQuota);
  if (!was_drained && !is_drained(context, policy, progress)) {
    return progress;
  }
  progress.message.clear();
  if (policy != DeletionPolicy::Retain) {
    if (!was_drained) {
      notify_waiting_jobs(context, progress.steps);
    }
    // The quota goes once that is in the stored status: two runs at least.
    if (!was_drained || in_our_queue(context)) {
      progress.reason = offboarding::kRemovingQuota;
      progress.message = fmt::format("waiting for the flavor to leave ClusterQueue {}",
                                     context.settings.cluster_queue);
      return progress;
    }
  }
  mark_or_delete_secret(context, policy, progress.steps);
  progress.reason = offboarding::kRemovingFlavor;
  if (policy == DeletionPolicy::Retain || is_flavor_gone(context, progress)) {
    progress.reason = offboarding::kDone;
    progress.message.clear();
    progress.done = true;
  }
  return progress;
}

void write_progress(const Context& context, const Progress& progress, const std::string& stage,
                    Plan& plan) {
  StatusWrite status(context);
  status.condition(condition::kOffboarding, !progress.blocked,
                   progress.blocked ? offboarding::kBlocked : progress.reason, progress.message);
  if (!workloads_hidden(context.view, context.settings)) {
    status.set("activeWorkloads", workloads_on(context.view, context.name()).size());
  }
  if (const Sentinels found = sentinels_of(context); found.known && found.jobs.empty()) {
    status.set("lockState", state::kUnlocked);
    status.set("locked", false);
  }
  if (stage.empty()) {
    status.then(context.event("Normal", "OffboardingStarted", "the cluster is being removed"));
  }
  status.into(plan);
}

}  // namespace

DeletionPolicy deletion_policy(const api::FournosClusterSpec& spec) {
  if (spec.deletion_policy == "Force") {
    return DeletionPolicy::Force;
  }
  return spec.deletion_policy == "Retain" ? DeletionPolicy::Retain : DeletionPolicy::Drain;
}

Value wanted_finalizers(const Context& context) {
  Value wanted = Value::list();
  bool ours = false;
  for (const Value& finalizer : context.object().metadata()["finalizers"].items()) {
    const std::string_view text = finalizer.as_string();
    ours = ours || text == name::kFinalizer;
    if (text != name::kKopfFinalizer &&
        (text != name::kFinalizer || context.settings.offboards())) {
      wanted.push_back(finalizer);
    }
  }
  // Nothing may be added to what is being deleted.
  if (!ours && context.settings.offboards() && !context.object().deleting()) {
    wanted.push_back(name::kFinalizer);
  }
  return wanted;
}

Plan offboard(const Context& context) {
  Plan plan;
  if (!context.object().has_finalizer(name::kFinalizer)) {
    return plan;  // no wait is needed; the sentinel goes by its own operator
  }
  const std::string stage = stage_of(context);
  Progress progress = next_step(context);
  if (!progress.done) {
    write_progress(context, progress, stage, plan);
    plan.merge(std::move(progress.steps));
    return plan;
  }
  plan.merge(std::move(progress.steps));
  plan.then(context.event("Normal", "OffboardingDone", "the cluster is removed"));
  Value finalizers = Value::list();
  for (const Value& finalizer : context.object().metadata()["finalizers"].items()) {
    if (finalizer.as_string() != name::kFinalizer) {
      finalizers.push_back(finalizer);
    }
  }
  Value merge = Value::object();
  merge.set_path({"metadata", "finalizers"}, std::move(finalizers));
  plan.then(Patch{.target = context.ref(),
                  .merge = std::move(merge),
                  .guard = {.uid = context.uid(),
                            .resource_version = std::string(context.object().resource_version())}});
  return plan;
}

}  // namespace athanor::hearth
