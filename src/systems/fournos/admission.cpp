// SPDX-License-Identifier: Apache-2.0
// Pending: reading the Workload, and saying what the job waits for (docs/spec/fournos.md 8.1, 8.2).
#include <fmt/format.h>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"

namespace athanor::fournos {
namespace {

// The flavor that stands for the cluster: of the slot, else of the GPUs, else the first by name.
std::string assigned_flavor(const Tick& tick, const Object& workload) {
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
    if (flavor.key().starts_with(tick.settings.gpu_prefix) &&
        (gpu == nullptr || flavor.key() < gpu->key())) {
      gpu = &flavor;
    }
  }
  const Member* chosen = gpu != nullptr ? gpu : first;
  return chosen == nullptr ? std::string() : chosen->value.str();
}

// The first other job that holds this cluster alone. Found by label: only the holders of one
// cluster are read.
std::string locker_of(const Tick& tick, const std::string& cluster) {
  const Select select{.ns = tick.job.ns(),
                      .labels = {{std::string(name::kExclusiveCluster), cluster}}};
  for (const Object& other : tick.view.list(api::kFournosJob, select)) {
    if (other.name() != tick.job.object().name() &&
        holds_lock(other.status()["phase"].as_string())) {
      return fmt::format(text::kLockerJob, other.name());
    }
  }
  return std::string(text::kLockerUnknown);
}

std::string waiting_message(const Tick& tick, std::string_view workload_message) {
  if (workload_message.empty()) {
    return std::string(text::kWaiting);
  }
  const std::string& cluster = tick.job.spec().cluster;
  if (workload_message.find(name::kClusterSlot) == std::string_view::npos) {
    return fmt::format(text::kWaitingAdmission, workload_message);
  }
  if (cluster.empty()) {
    return std::string(text::kAllLocked);
  }
  if (tick.job.exclusive || tick.job.lock_only) {
    return fmt::format(text::kWaitingExclusive, cluster);
  }
  return fmt::format(text::kLockedBy, cluster, locker_of(tick, cluster));
}

Plan keep_waiting(const Tick& tick, const Object& workload) {
  std::string_view reason;
  std::string_view message;
  for (const Value& condition : workload.status()["conditions"].items()) {
    // Our own word is no reason to wait.
    if (condition["type"].as_string() != name::kPodsReady &&
        !condition["message"].as_string().empty()) {
      reason = condition["reason"].as_string();
      message = condition["message"].as_string();
    }
  }
  const std::string text = waiting_message(tick, message);
  Plan plan;
  if (text != tick.job.status().message) {
    StatusWrite(tick)
        .message(text)
        .condition(condition::kWorkloadAdmitted, Truth::False, reason.empty() ? "Pending" : reason,
                   text)
        .into(plan);
  }
  return plan;
}

Plan take_admission(const Tick& tick, const Object& workload) {
  const std::string flavor = assigned_flavor(tick, workload);
  if (flavor.empty()) {
    Plan plan = release_workload(tick);
    StatusWrite(tick)
        .enter(phase::kFailed, text::kNoFlavor)
        .condition(condition::kWorkloadAdmitted, Truth::False, "NoFlavorAssigned",
                   text::kNoFlavorLong)
        .into(plan);
    return plan;
  }
  Plan plan;
  StatusWrite(tick)
      .enter(phase::kAdmitted, fmt::format(text::kAdmitted, flavor))
      .set("cluster", flavor)
      .condition(condition::kWorkloadAdmitted, Truth::True, "Admitted",
                 fmt::format(text::kAssigned, flavor))
      .into(plan);
  return plan;
}

// The job was queued again a moment ago: its message says so until Kueue looks at the new Workload.
bool just_requeued(const Job& job) {
  const Value& condition =
      find_condition(job.object().status()["conditions"], condition::kWorkloadAdmitted);
  return condition["reason"].as_string() == "Evicted";
}

Plan make_again(const Tick& tick) {
  WorkloadEnsured workload = ensure_workload(tick);
  if (workload.missing_priority) {
    return reject_job(tick, fmt::format(text::kNoPriorityClass, tick.job.spec().priority));
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    return reject_job(tick, fmt::format(text::kCreateWorkload, ensured.reason));
  }
  Plan plan = std::move(ensured.steps);
  if (ensured.state == Ensured::State::Ready && !just_requeued(tick.job)) {
    StatusWrite(tick)
        .message(text::kWorkloadRecreated)
        .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", text::kWorkloadRecreated)
        .into(plan);
  }
  return plan;
}

}  // namespace

Plan release_workload(const Tick& tick) {
  Plan plan;
  const Child workload = workload_of(tick);
  if (workload.ours()) {
    remove(plan, workload);
  }
  return plan;
}

std::optional<Plan> expire_lock(const Tick& tick) {
  const auto end = parse_time(tick.job.spec().lock_until);
  if (!tick.job.lock_only || !end) {
    return std::nullopt;
  }
  if (*end > tick.now) {
    return std::nullopt;
  }
  Plan plan = release_workload(tick);
  StatusWrite(tick).enter(phase::kSucceeded, text::kLockExpired).into(plan);
  return plan;
}

Plan await_admission(const Tick& tick) {
  const Child workload = workload_of(tick);
  if (!workload.ours() || workload.object.deleting()) {
    auto waiting = await_kinds(tick);
    return waiting ? *std::move(waiting) : make_again(tick);
  }
  if (condition_is(workload.object.status()["conditions"], "Admitted", "True")) {
    return take_admission(tick, workload.object);
  }
  return keep_waiting(tick, workload.object);
}

}  // namespace athanor::fournos
