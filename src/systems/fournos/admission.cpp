// SPDX-License-Identifier: Apache-2.0
// Pending: reading the Workload, and saying what the job waits for (docs/spec/fournos.md 8.1, 8.2).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "api/kueue.hpp"
#include "kube/names/names.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/cluster_state.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kRedirectedReason = "Redirected";

// The flavor of the cluster: of the slot, else of the GPUs, else the first by name.
std::string assigned_flavor(const Context& context, const Object& workload) {
  const Value& flavors = workload.status()["admission"]["podSetAssignments"][0]["flavors"];
  if (const Value* slot = flavors.find(name::kClusterSlot)) {
    return slot->str();
  }
  const Member* first = nullptr;
  const Member* gpu = nullptr;
  for (const Member& flavor : flavors.members()) {
    if (first == nullptr || flavor.key() < first->key()) {
      first = &flavor;
    }
    if (flavor.key().starts_with(context.settings.gpu_prefix) &&
        (gpu == nullptr || flavor.key() < gpu->key())) {
      gpu = &flavor;
    }
  }
  const Member* chosen = gpu != nullptr ? gpu : first;
  return chosen == nullptr ? std::string() : chosen->value.str();
}

// The first other job that holds this cluster alone. Found by label: only the holders of one
// cluster are read.
std::string locker_of(const Context& context, const std::string& cluster) {
  const Select select{.ns = context.job.ns(),
                      .labels = {{std::string(name::kExclusiveCluster), cluster}}};
  for (const Object& other : context.view.list(api::kFournosJob, select)) {
    if (other.name() != context.job.object().name() &&
        holds_lock(other.status()["phase"].as_string())) {
      return fmt::format(text::kLockerJob, other.name());
    }
  }
  return std::string(text::kLockerUnknown);
}

// The flavors that follow `words` in Kueue's message: each name ends at a comma or at the end.
std::set<std::string_view> flavors_after(std::string_view message, std::string_view words) {
  std::set<std::string_view> flavors;
  for (std::size_t at = message.find(words); at != std::string_view::npos;
       at = message.find(words, at + 1)) {
    const std::string_view rest = message.substr(at + words.size());
    flavors.insert(rest.substr(0, rest.find(',')));
  }
  return flavors;
}

// Returns true if no flavor would have the GPUs even with its slots free: a lock is not what the
// job waits for.
bool lacks_gpus(const Context& context, std::string_view workload_message) {
  const auto& hardware = context.job.spec().hardware;
  if (!hardware || hardware->gpu_type.empty()) {
    return false;
  }
  const std::string gpu = context.settings.gpu_prefix + hardware->gpu_type;
  const auto never = flavors_after(workload_message, fmt::format(text::kQuota, gpu));
  auto busy = flavors_after(workload_message, fmt::format(text::kUnusedQuota, gpu));
  busy.merge(flavors_after(workload_message, fmt::format(text::kUnusedQuota, name::kClusterSlot)));
  return !never.empty() && std::ranges::includes(never, busy);
}

// Returns the flavors whose slots the job lacks.
std::set<std::string_view> closed_flavors(std::string_view workload_message) {
  auto closed =
      flavors_after(workload_message, fmt::format(text::kUnusedQuota, name::kClusterSlot));
  closed.merge(flavors_after(workload_message, fmt::format(text::kQuota, name::kClusterSlot)));
  return closed;
}

// Returns true if Hearth has cordoned every cluster whose slots the job lacks.
bool all_cordoned(const Context& context, const std::set<std::string_view>& closed) {
  return !closed.empty() && std::ranges::all_of(closed, [&](std::string_view flavor) {
    const auto known = cluster_of_hearth(context, std::string(flavor));
    return known && api::is_cordoned(*known);
  });
}

// Returns true if a flavor has slots for the job and merely lacks free GPUs.
bool is_open_but_full(const Context& context, std::string_view workload_message,
                      const std::set<std::string_view>& closed) {
  const auto& hardware = context.job.spec().hardware;
  if (!hardware || hardware->gpu_type.empty()) {
    return false;
  }
  const std::string gpu = context.settings.gpu_prefix + hardware->gpu_type;
  return !std::ranges::includes(
      closed, flavors_after(workload_message, fmt::format(text::kUnusedQuota, gpu)));
}

// Returns the message of a waiting job that names no cluster.
std::string waiting_anywhere(const Context& context, std::string_view workload_message) {
  const auto closed = closed_flavors(workload_message);
  if (!all_cordoned(context, closed)) {
    return std::string(text::kAllLocked);
  }
  return is_open_but_full(context, workload_message, closed)
             ? fmt::format(text::kWaitingAdmission, workload_message)
             : std::string(text::kAllCordoned);
}

std::string waiting_message(const Context& context, std::string_view workload_message) {
  if (workload_message.empty()) {
    return std::string(text::kWaiting);
  }
  const std::string& cluster = context.job.pinned_cluster();
  if (workload_message.find(name::kClusterSlot) == std::string_view::npos) {
    return fmt::format(text::kWaitingAdmission, workload_message);
  }
  if (lacks_gpus(context, workload_message)) {
    const api::FournosHardware& hardware = *context.job.spec().hardware;
    return cluster.empty()
               ? fmt::format(text::kNeverFits, hardware.gpu_count, hardware.gpu_type)
               : fmt::format(text::kNeverFitsThere, cluster, hardware.gpu_count, hardware.gpu_type);
  }
  if (cluster.empty()) {
    return waiting_anywhere(context, workload_message);
  }
  if (std::string closed = closed_by_hearth(context, cluster); !closed.empty()) {
    return closed;
  }
  if (context.job.exclusive || context.job.lock_only) {
    return fmt::format(text::kWaitingExclusive, cluster);
  }
  return fmt::format(text::kLockedBy, cluster, locker_of(context, cluster));
}

// What Kueue said last of the Workload; empty: nothing yet.
struct Word {
  std::string_view reason{};
  std::string_view message{};
};

Word last_word(const Object& workload) {
  Word word;
  for (const Value& condition : workload.status()["conditions"].items()) {
    // Our own word is no reason to wait.
    if (condition["type"].as_string() != name::kPodsReady &&
        !condition["message"].as_string().empty()) {
      word = {condition["reason"].as_string(), condition["message"].as_string()};
    }
  }
  return word;
}

// Returns true if Kueue gives reasons and none of them is about the job's own cluster: its flavor
// may be gone. Only then is it read, as ten thousand waiting jobs are to read little.
bool passes_cluster_over(const Context& context, const Object& workload) {
  const std::string_view message = last_word(workload).message;
  const std::string words = "flavor " + context.job.pinned_cluster();
  for (std::size_t at = message.find(words); at != std::string_view::npos;
       at = message.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if (end == message.size() || message[end] == ' ' || message[end] == ',') {
      return false;
    }
  }
  return !message.empty();
}

Plan keep_waiting(const Context& context, const Object& workload) {
  const auto [reason, message] = last_word(workload);
  const std::string& cluster = context.job.pinned_cluster();
  std::string text;
  const bool of_flavors = message.find("flavor ") != std::string_view::npos;
  if (!cluster.empty() && of_flavors && passes_cluster_over(context, workload)) {
    text = no_place_text(context, cluster);
  }
  if (text.empty()) {
    text = waiting_message(context, message);
  }
  Plan plan;
  if (text != context.job.status().message) {
    StatusWrite(context)
        .message(text)
        .condition(condition::kWorkloadAdmitted, Truth::False, reason.empty() ? "Pending" : reason,
                   text)
        .into(plan);
  }
  return plan;
}

Plan take_admission(const Context& context, const Object& workload) {
  const std::string flavor = assigned_flavor(context, workload);
  if (flavor.empty()) {
    Plan plan = release_workload(context);
    StatusWrite(context)
        .enter(phase::kFailed, text::kNoFlavor)
        .condition(condition::kWorkloadAdmitted, Truth::False, "NoFlavorAssigned",
                   text::kNoFlavorLong)
        .into(plan);
    return plan;
  }
  Plan plan;
  const Job& job = context.job;
  if (!job.status().redirected_from.empty() && job.exclusive &&
      job.object().label(name::kExclusiveCluster) != flavor && !validate_label_value(flavor)) {
    plan.then(Patch{
        .target = job.ref(),
        .merge = Value::object(
            {{"metadata",
              Value::object({{"labels", Value::object({{name::kExclusiveCluster, flavor}})}})}}),
        .guard = {.uid = job.uid()}});
  }
  StatusWrite(context)
      .enter(phase::kAdmitted, fmt::format(text::kAdmitted, flavor))
      .set("cluster", flavor)
      .condition(condition::kWorkloadAdmitted, Truth::True, "Admitted",
                 fmt::format(text::kAssigned, flavor))
      .into(plan);
  return plan;
}

// The job was queued again a moment ago: its message stays until Kueue has seen the new Workload.
bool just_requeued(const Job& job) {
  const Value& condition =
      find_condition(job.object().status()["conditions"], condition::kWorkloadAdmitted);
  return condition["reason"].as_string() == "Evicted" ||
         condition["reason"].as_string() == kRedirectedReason;
}

// Returns true if a queue has quota of the job's GPUs on another cluster that is not unhealthy.
bool has_equivalent(const Context& context) {
  const api::FournosJobSpec& spec = context.job.spec();
  const std::string gpu = context.settings.gpu_prefix + spec.hardware->gpu_type;
  const auto offers = [&](const Value& flavor) {
    const auto found =
        context.view.get(api::kueue::kResourceFlavor, Key{.name = flavor["name"].str()});
    return flavor["name"].as_string() != spec.cluster && found &&
           found->label(name::kHealthy) != "false" &&
           std::ranges::any_of(flavor["resources"].items(), [&](const Value& quota) {
             const auto amount = Quantity::parse(quota["nominalQuota"]);
             return quota["name"].as_string() == gpu && amount && *amount > Quantity();
           });
  };
  for (const Object& queue : context.view.list(api::kueue::kClusterQueue)) {
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      if (std::ranges::any_of(group["flavors"].items(), offers)) {
        return true;
      }
    }
  }
  return false;
}

// Returns true if the job leaves its cluster, which does not answer, for one with the same GPUs.
bool leaves_unhealthy_cluster(const Context& context) {
  const Job& job = context.job;
  if (job.pinned_cluster().empty() || !job.wants_gpus() || job.lock_only ||
      context.settings.api() != api::FournosApi::Auto ||
      job.object().annotation(name::kNoRedirect) == "true") {
    return false;
  }
  const auto flavor =
      context.view.get(api::kueue::kResourceFlavor, Key{.name = job.spec().cluster});
  return flavor && flavor->label(name::kHealthy) == "false" && has_equivalent(context);
}

// The next run of the operator makes the Workload anew, for any cluster.
Plan redirect(const Context& context) {
  const std::string& cluster = context.job.spec().cluster;
  Plan plan = release_workload(context);
  StatusWrite(context)
      .message(fmt::format(text::kRedirected, cluster))
      .set("redirectedFrom", cluster)
      .set("redirectCount", context.job.status().redirect_count + 1)
      .condition(condition::kWorkloadAdmitted, Truth::False, kRedirectedReason,
                 fmt::format(text::kRedirectedLong, cluster))
      .into(plan);
  return plan;
}

Plan recreate_workload(const Context& context) {
  WorkloadEnsured workload = ensure_workload(context);
  if (workload.missing_priority) {
    return reject_job(context, fmt::format(text::kNoPriorityClass, context.job.spec().priority));
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    return reject_job(context, fmt::format(text::kCreateWorkload, ensured.reason));
  }
  Plan plan = std::move(ensured.steps);
  if (ensured.state == Ensured::State::Ready && !just_requeued(context.job)) {
    StatusWrite(context)
        .message(text::kWorkloadRecreated)
        .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", text::kWorkloadRecreated)
        .into(plan);
  }
  return plan;
}

// The cluster that the job names was removed while it waited: nothing would ever admit it. nullopt:
// the cluster is there, or that cannot be known.
std::optional<Plan> leave_removed_cluster(const Context& context) {
  const std::string& cluster = context.job.pinned_cluster();
  if (cluster.empty()) {
    return std::nullopt;
  }
  const Confirmed flavor =
      read_confirmed(context, api::kueue::kResourceFlavor, Key{.name = cluster});
  if (!flavor.known && !flavor.error) {
    return await_answer(context);
  }
  if (!flavor.absent() || flavor.error) {
    return std::nullopt;
  }
  const std::string message = fmt::format(text::kNoCluster, cluster);
  Plan plan = release_workload(context);
  StatusWrite(context)
      .enter(phase::kFailed, message)
      .condition(condition::kWorkloadAdmitted, Truth::False, "ClusterNotFound", message)
      .into(plan);
  return plan;
}

}  // namespace

Plan release_workload(const Context& context) {
  Plan plan;
  const Child workload = workload_of(context);
  if (workload.ours()) {
    remove(plan, workload);
  }
  return plan;
}

std::optional<Plan> expire_lock(const Context& context) {
  const auto end = parse_time(context.job.spec().lock_until);
  if (!context.job.lock_only || !end) {
    return std::nullopt;
  }
  if (*end > context.now) {
    return std::nullopt;
  }
  Plan plan = release_workload(context);
  StatusWrite(context).enter(phase::kSucceeded, text::kLockExpired).into(plan);
  return plan;
}

Plan await_admission(const Context& context) {
  const Child workload = workload_of(context);
  if (!workload.ours() || workload.object.deleting()) {
    if (auto waiting = await_kinds(context)) {
      return *std::move(waiting);
    }
    auto leaving = leave_removed_cluster(context);
    return leaving ? *std::move(leaving) : recreate_workload(context);
  }
  if (condition_is(workload.object.status()["conditions"], "Admitted", "True")) {
    return take_admission(context, workload.object);
  }
  if (leaves_unhealthy_cluster(context)) {
    return redirect(context);
  }
  if (passes_cluster_over(context, workload.object)) {
    if (auto leaving = leave_removed_cluster(context)) {
      return *std::move(leaving);
    }
  }
  return keep_waiting(context, workload.object);
}

}  // namespace athanor::fournos
