// SPDX-License-Identifier: Apache-2.0
// A job's first run: the checks in order, then its Workload or its resolution (docs/spec/fournos.md
// section 5).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/kueue.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/ttl.hpp"

namespace athanor::fournos {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestResolved = 55;  // "-resolve" has to fit

using Check = std::optional<Obstacle> (*)(const Tick&);

std::optional<Obstacle> refuse(std::string message) {
  return Obstacle{.message = std::move(message)};
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_label_value(std::string_view text) {
  const auto edge = [](char c) { return is_letter(c) || is_digit(c); };
  return !text.empty() && text.size() <= kLongestLabel && edge(text.front()) && edge(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return edge(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_variable_name(std::string_view text) {
  const auto letter = [](char c) { return is_letter(c) || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || is_digit(c); });
}

// A list that the API server denies is final; any other trouble passes (row 9).
std::optional<Obstacle> unlisted(const Tick& tick, const Kind& kind, std::string_view message) {
  const auto error = unreadable(tick.view, kind, kind.namespaced ? tick.job.ns() : std::string());
  if (!error) {
    return std::nullopt;
  }
  if (error->code == 401 || error->code == 403) {
    const std::string reason(http_reason(error->code));
    return Obstacle{.message = fmt::format(fmt::runtime(message), reason),
                    .condition = fmt::format(text::kKueueError, reason)};
  }
  return Obstacle{.retry = *error};
}

// ---- checks, in the order of the tables

std::optional<Obstacle> check_name(const Tick& tick) {
  const bool resolves = tick.job.dialect == Dialect::Engine && !tick.job.lock_only;
  const std::size_t most = resolves ? kLongestResolved : kLongestLabel;
  return tick.job.object().name().size() > most ? refuse(fmt::format(text::kNameTooLong, most))
                                                : std::nullopt;
}

std::optional<Obstacle> check_engines(const Tick& tick) {
  const bool both = tick.job.spec().forge && !tick.job.spec().execution_engine.is_null();
  return both ? refuse(std::string(text::kBothEngines)) : std::nullopt;
}

std::optional<Obstacle> check_lock_until(const Tick& tick) {
  const api::FournosJobSpec& spec = tick.job.spec();
  if (spec.lock_until.empty()) {
    return std::nullopt;
  }
  if (!parse_time(spec.lock_until)) {
    return refuse(fmt::format(text::kInvalidLockUntil, spec.lock_until));
  }
  return spec.lock_only == false ? refuse(std::string(text::kLockUntilConflict)) : std::nullopt;
}

std::optional<Obstacle> check_engine_fields(const Tick& tick) {
  const Job& job = tick.job;
  const bool cluster = !job.spec().cluster.empty();
  if (job.lock_only && !cluster) {
    return refuse(std::string(text::kLockNeedsCluster));
  }
  if (!job.lock_only && job.spec().execution_engine.empty()) {
    return refuse(std::string(text::kEngineRequired));
  }
  if (job.clusterless && job.lock_only) {
    return refuse(std::string(text::kClusterlessLock));
  }
  if (job.clusterless && job.exclusive) {
    return refuse(std::string(text::kClusterlessExclusive));
  }
  if (job.clusterless && cluster) {
    return refuse(std::string(text::kClusterlessCluster));
  }
  return std::nullopt;
}

std::optional<Obstacle> check_target(const Tick& tick) {
  const api::FournosJobSpec& spec = tick.job.spec();
  return spec.cluster.empty() && !spec.hardware ? refuse(std::string(text::kNeedsTarget))
                                                : std::nullopt;
}

std::optional<Obstacle> check_exclusive(const Tick& tick) {
  const bool nowhere = tick.job.exclusive && tick.job.spec().cluster.empty();
  return nowhere ? refuse(std::string(text::kExclusiveNeedsCluster)) : std::nullopt;
}

std::optional<Obstacle> check_cluster(const Tick& tick) {
  const std::string& cluster = tick.job.spec().cluster;
  if (cluster.empty()) {
    return std::nullopt;
  }
  if (auto obstacle = unlisted(tick, api::kueue::kResourceFlavor, text::kListClusters)) {
    return obstacle;
  }
  const Sure flavor = surely(tick, api::kueue::kResourceFlavor, Key{.name = cluster});
  if (!flavor.known) {
    return Obstacle{.waiting = true};
  }
  return flavor.object ? std::nullopt : refuse(fmt::format(text::kNoCluster, cluster));
}

std::optional<Obstacle> check_environment(const Tick& tick) {
  for (const auto& [key, value] : tick.job.spec().env) {
    if (!is_variable_name(key)) {
      return refuse(fmt::format(text::kBadEnvName, key));
    }
  }
  return std::nullopt;
}

std::optional<Obstacle> check_reserved_refs(const Tick& tick) {
  const auto& refs = tick.job.spec().secret_refs;
  const bool reserved = std::find(refs.begin(), refs.end(), "kubeconfig") != refs.end();
  return reserved ? refuse(std::string(text::kReservedSecretRef)) : std::nullopt;
}

std::optional<Obstacle> check_priority(const Tick& tick) {
  const Priority priority = priority_of(tick);
  if (!priority.known) {
    return Obstacle{.waiting = true};
  }
  return priority.missing ? refuse(fmt::format(text::kNoPriorityClass, tick.job.spec().priority))
                          : std::nullopt;
}

constexpr Check kCommonChecks[] = {check_name, check_lock_until, check_engines};
constexpr Check kSeedChecks[] = {check_target,   check_exclusive,   check_cluster,
                                 check_gpu_type, check_environment, check_priority};
constexpr Check kEngineChecks[] = {check_engine_fields, check_exclusive, check_cluster,
                                   check_reserved_refs, check_priority};
constexpr Check kClusterlessChecks[] = {check_engine_fields, check_reserved_refs};

std::optional<Obstacle> first_obstacle(const Tick& tick) {
  const Job& job = tick.job;
  std::span<const Check> checks = kEngineChecks;
  if (job.dialect == Dialect::Seed) {
    checks = kSeedChecks;
  } else if (job.clusterless) {
    checks = kClusterlessChecks;
  }
  for (const std::span<const Check> group : {std::span<const Check>(kCommonChecks), checks}) {
    for (const Check check : group) {
      if (auto obstacle = check(tick)) {
        return obstacle;
      }
    }
  }
  return std::nullopt;
}

// ---- what acceptance writes

enum class Label : std::uint8_t { Skip, Add };

// The main resource's part of the first write: the dialect's `exclusive` (D4), the cluster's label
// (rows 11, 9).
Plan prepare(const Tick& tick, Label label) {
  const Job& job = tick.job;
  Value merge = Value::object();
  if (job.object().body().contains("spec") && !job.spec().exclusive) {
    merge.set_path({"spec", "exclusive"}, job.exclusive);
  }
  const std::string& cluster = job.spec().cluster;
  const bool locks = job.exclusive || job.lock_only;
  if (label == Label::Add && locks && is_label_value(cluster) &&
      job.object().label(name::kExclusiveCluster) != cluster) {
    merge.set_path({"metadata", "labels", name::kExclusiveCluster}, cluster);
  }
  Plan plan;
  if (!merge.empty()) {
    plan.then(Patch{.target = job.ref(), .merge = std::move(merge), .guard = {.uid = job.uid()}});
  }
  return plan;
}

Plan rejected(const Tick& tick, const std::string& message) {
  Plan plan = prepare(tick, Label::Skip);
  plan.merge(release_workload(tick));  // made before a crash, when all was well yet
  plan.merge(reject_job(tick, message));
  return plan;
}

// A Workload at once: seed jobs, and locks (section 13).
Plan queue_up(const Tick& tick) {
  Plan plan = prepare(tick, Label::Add);
  WorkloadEnsured workload = ensure_workload(tick);
  if (workload.missing_priority) {
    return rejected(tick, fmt::format(text::kNoPriorityClass, tick.job.spec().priority));
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    plan.merge(reject_job(tick, fmt::format(text::kCreateWorkload, ensured.reason)));
    return plan;
  }
  plan.merge(std::move(ensured.steps));
  if (ensured.state == Ensured::State::Waiting) {
    return plan;
  }
  const std::string_view message = tick.job.lock_only ? text::kLockPending : text::kWorkloadCreated;
  const std::string_view condition =
      tick.job.lock_only ? text::kLockCreated : text::kWorkloadCreated;
  StatusWrite(tick)
      .enter(phase::kPending, message)
      .forget_conditions()
      .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", condition)
      .into(plan);
  return plan;
}

Plan accept(const Tick& tick) {
  if (tick.job.dialect == Dialect::Seed || tick.job.lock_only) {
    return queue_up(tick);
  }
  Plan plan = prepare(tick, Label::Add);
  StatusWrite(tick).enter(phase::kResolving, text::kResolving).into(plan);
  return plan;
}

// R5.1: every covered resource with the prefix, whatever its quota.
std::set<std::string> gpu_types(const Tick& tick, const std::vector<Object>& queues) {
  const std::string& prefix = tick.settings.gpu_prefix;
  std::set<std::string> types;
  for (const Object& queue : queues) {
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& resource : group["coveredResources"].items()) {
        if (resource.as_string().starts_with(prefix)) {
          types.insert(resource.str().substr(prefix.size()));
        }
      }
    }
  }
  return types;
}

// "2026-05-04T10:00:00+00:00".
std::string offset_time(Instant instant) {
  std::string written = format_time(instant);
  written.pop_back();
  return written + "+00:00";
}

// The plan while the start lies ahead.
std::optional<Plan> await_start(const Tick& tick) {
  const auto start = parse_time(tick.job.spec().scheduled_start_time);
  if (!start || *start <= tick.now) {
    return std::nullopt;
  }
  Plan plan;
  if (tick.job.status().phase != phase::kScheduled) {
    plan = prepare(tick, Label::Skip);
    StatusWrite(tick)
        .enter(phase::kScheduled, fmt::format(text::kScheduledFor, offset_time(*start)))
        .into(plan);
  }
  plan.wake_at(*start);
  return plan;
}

}  // namespace

std::optional<Obstacle> check_gpu_type(const Tick& tick) {
  const Job& job = tick.job;
  if (!job.spec().hardware || job.spec().hardware->gpu_type.empty()) {
    return std::nullopt;
  }
  if (auto obstacle = unlisted(tick, api::kueue::kClusterQueue, text::kListGpuTypes)) {
    return obstacle;
  }
  const std::string& wanted = job.spec().hardware->gpu_type;
  if (gpu_types(tick, tick.view.list(api::kueue::kClusterQueue)).contains(wanted)) {
    return std::nullopt;
  }
  const Live queues = list_live(tick.view, api::kueue::kClusterQueue, tick.now);
  if (!queues.known) {
    return Obstacle{.waiting = true};
  }
  const std::set<std::string> types = gpu_types(tick, queues.objects);
  if (types.contains(wanted)) {
    return std::nullopt;
  }
  if (types.empty()) {
    return Obstacle{.message = std::string(text::kNoGpuTypes),
                    .condition = std::string(text::kNoGpuTypesFound)};
  }
  return Obstacle{.message = fmt::format(text::kUnknownGpuType, wanted, fmt::join(types, ", ")),
                  .condition = fmt::format(text::kUnknownGpuTypeShort, wanted)};
}

Plan create(const Tick& tick) {
  const api::FournosJobSpec& spec = tick.job.spec();
  if (!spec.shutdown.empty()) {
    Plan plan = prepare(tick, Label::Skip);
    plan.merge(release_workload(tick));
    StatusWrite(tick).enter(phase::kStopped, text::kStoppedByUser).into(plan);
    return plan;
  }
  if (!spec.ttl.empty() && !parse_ttl(spec.ttl)) {
    return rejected(tick, fmt::format(text::kInvalidTtl, spec.ttl));
  }
  if (!spec.schedule.empty()) {
    return rejected(tick, std::string(text::kRecurring));
  }
  if (auto waiting = await_start(tick)) {
    return *std::move(waiting);
  }
  if (auto waiting = await_kinds(tick)) {
    return *std::move(waiting);
  }
  if (const auto obstacle = first_obstacle(tick)) {
    if (obstacle->waiting) {
      return await_answer(tick);
    }
    return obstacle->retry ? Plan::retry(*obstacle->retry) : rejected(tick, obstacle->message);
  }
  return accept(tick);
}

}  // namespace athanor::fournos
