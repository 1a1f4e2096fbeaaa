// SPDX-License-Identifier: Apache-2.0
// A job's first run: the checks in order, then its Workload or its resolution (docs/spec/fournos.md
// section 5).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/kueue.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/cluster_state.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/status_write.hpp"
#include "systems/fournos/ttl.hpp"

namespace athanor::fournos {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestResolved = 55;  // "-resolve" has to fit

using Check = std::optional<Obstacle> (*)(const Context&);

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
std::optional<Obstacle> unlisted(const Context& context, const Kind& kind,
                                 std::string_view message) {
  const auto error =
      unreadable(context.view, kind, kind.namespaced ? context.job.ns() : std::string());
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

std::optional<Obstacle> check_name(const Context& context) {
  const bool resolves = context.job.dialect == Dialect::Engine && !context.job.lock_only;
  const std::size_t most = resolves ? kLongestResolved : kLongestLabel;
  return context.job.object().name().size() > most ? refuse(fmt::format(text::kNameTooLong, most))
                                                   : std::nullopt;
}

std::optional<Obstacle> check_engines(const Context& context) {
  const bool both = context.job.spec().forge && !context.job.spec().execution_engine.is_null();
  return both ? refuse(std::string(text::kBothEngines)) : std::nullopt;
}

std::optional<Obstacle> check_lock_until(const Context& context) {
  const api::FournosJobSpec& spec = context.job.spec();
  if (spec.lock_until.empty()) {
    return std::nullopt;
  }
  if (!parse_time(spec.lock_until)) {
    return refuse(fmt::format(text::kInvalidLockUntil, spec.lock_until));
  }
  return spec.lock_only == false ? refuse(std::string(text::kLockUntilConflict)) : std::nullopt;
}

std::optional<Obstacle> check_engine_fields(const Context& context) {
  const Job& job = context.job;
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

std::optional<Obstacle> check_target(const Context& context) {
  const api::FournosJobSpec& spec = context.job.spec();
  return spec.cluster.empty() && !spec.hardware ? refuse(std::string(text::kNeedsTarget))
                                                : std::nullopt;
}

std::optional<Obstacle> check_exclusive(const Context& context) {
  const bool nowhere = context.job.exclusive && context.job.spec().cluster.empty();
  return nowhere ? refuse(std::string(text::kExclusiveNeedsCluster)) : std::nullopt;
}

std::optional<Obstacle> check_cluster(const Context& context) {
  const std::string& cluster = context.job.spec().cluster;
  if (cluster.empty()) {
    return std::nullopt;
  }
  if (auto obstacle = unlisted(context, api::kueue::kResourceFlavor, text::kListClusters)) {
    return obstacle;
  }
  const Confirmed flavor =
      read_confirmed(context, api::kueue::kResourceFlavor, Key{.name = cluster});
  if (!flavor.known || (!flavor.object && is_joining(context, cluster))) {
    return Obstacle{.waiting = true};
  }
  return flavor.object ? std::nullopt : refuse(fmt::format(text::kNoCluster, cluster));
}

std::optional<Obstacle> check_environment(const Context& context) {
  for (const auto& [key, value] : context.job.spec().env) {
    if (!is_variable_name(key)) {
      return refuse(fmt::format(text::kBadEnvName, key));
    }
  }
  return std::nullopt;
}

std::optional<Obstacle> check_reserved_refs(const Context& context) {
  const auto& refs = context.job.spec().secret_refs;
  const bool reserved = std::find(refs.begin(), refs.end(), "kubeconfig") != refs.end();
  return reserved ? refuse(std::string(text::kReservedSecretRef)) : std::nullopt;
}

std::optional<Obstacle> check_priority(const Context& context) {
  const Priority priority = priority_of(context);
  if (!priority.known) {
    return Obstacle{.waiting = true};
  }
  return priority.missing ? refuse(fmt::format(text::kNoPriorityClass, context.job.spec().priority))
                          : std::nullopt;
}

constexpr Check kCommonChecks[] = {check_name, check_lock_until, check_engines};
constexpr Check kSeedChecks[] = {check_target,   check_exclusive,   check_cluster,
                                 check_gpu_type, check_environment, check_priority};
constexpr Check kEngineChecks[] = {check_engine_fields, check_exclusive, check_cluster,
                                   check_reserved_refs, check_priority};
constexpr Check kClusterlessChecks[] = {check_engine_fields, check_reserved_refs};

std::optional<Obstacle> first_obstacle(const Context& context) {
  const Job& job = context.job;
  std::span<const Check> checks = kEngineChecks;
  if (job.dialect == Dialect::Seed) {
    checks = kSeedChecks;
  } else if (job.clusterless) {
    checks = kClusterlessChecks;
  }
  for (const std::span<const Check> group : {std::span<const Check>(kCommonChecks), checks}) {
    for (const Check check : group) {
      if (auto obstacle = check(context)) {
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
Plan prepare(const Context& context, Label label) {
  const Job& job = context.job;
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

Plan rejected(const Context& context, const std::string& message) {
  Plan plan = prepare(context, Label::Skip);
  plan.merge(release_workload(context));  // made before a crash, when all was well yet
  plan.merge(reject_job(context, message));
  return plan;
}

// A Workload at once: seed jobs, and locks (section 13).
Plan queue_created(const Context& context) {
  Plan plan = prepare(context, Label::Add);
  WorkloadEnsured workload = ensure_workload(context);
  if (workload.missing_priority) {
    return rejected(context, fmt::format(text::kNoPriorityClass, context.job.spec().priority));
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    plan.merge(reject_job(context, fmt::format(text::kCreateWorkload, ensured.reason)));
    return plan;
  }
  plan.merge(std::move(ensured.steps));
  if (ensured.state == Ensured::State::Waiting) {
    return plan;
  }
  const std::string_view message =
      context.job.lock_only ? text::kLockPending : text::kWorkloadCreated;
  const std::string_view condition =
      context.job.lock_only ? text::kLockCreated : text::kWorkloadCreated;
  StatusWrite(context)
      .enter(phase::kPending, message)
      .forget_conditions()
      .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", condition)
      .into(plan);
  return plan;
}

Plan accept(const Context& context) {
  if (context.job.dialect == Dialect::Seed || context.job.lock_only) {
    return queue_created(context);
  }
  Plan plan = prepare(context, Label::Add);
  StatusWrite(context).enter(phase::kResolving, text::kResolving).into(plan);
  return plan;
}

// R5.1: every covered resource with the prefix, whatever its quota.
std::set<std::string> gpu_types(const Context& context, const std::vector<Object>& queues) {
  const std::string& prefix = context.settings.gpu_prefix;
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
std::optional<Plan> await_start(const Context& context) {
  const auto start = parse_time(context.job.spec().scheduled_start_time);
  if (!start || *start <= context.now) {
    return std::nullopt;
  }
  Plan plan;
  if (context.job.status().phase != phase::kScheduled) {
    plan = prepare(context, Label::Skip);
    StatusWrite(context)
        .enter(phase::kScheduled, fmt::format(text::kScheduledFor, offset_time(*start)))
        .into(plan);
  }
  plan.wake_at(*start);
  return plan;
}

}  // namespace

std::optional<Obstacle> check_gpu_type(const Context& context) {
  const Job& job = context.job;
  if (!job.spec().hardware || job.spec().hardware->gpu_type.empty()) {
    return std::nullopt;
  }
  if (auto obstacle = unlisted(context, api::kueue::kClusterQueue, text::kListGpuTypes)) {
    return obstacle;
  }
  const std::string& wanted = job.spec().hardware->gpu_type;
  if (gpu_types(context, context.view.list(api::kueue::kClusterQueue)).contains(wanted)) {
    return std::nullopt;
  }
  const Live queues = list_live(context.view, api::kueue::kClusterQueue, context.now);
  if (!queues.known) {
    return Obstacle{.waiting = true};
  }
  const std::set<std::string> types = gpu_types(context, queues.objects);
  if (types.contains(wanted)) {
    return std::nullopt;
  }
  if (may_bring_gpus(context, wanted)) {
    return Obstacle{.waiting = true};
  }
  if (types.empty()) {
    return Obstacle{.message = std::string(text::kNoGpuTypes),
                    .condition = std::string(text::kNoGpuTypesFound)};
  }
  return Obstacle{.message = fmt::format(text::kUnknownGpuType, wanted, fmt::join(types, ", ")),
                  .condition = fmt::format(text::kUnknownGpuTypeShort, wanted)};
}

Plan create(const Context& context) {
  const api::FournosJobSpec& spec = context.job.spec();
  if (context.job.status().phase == phase::kRecurring) {
    return recur(context);
  }
  if (!spec.shutdown.empty()) {
    Plan plan = prepare(context, Label::Skip);
    plan.merge(release_workload(context));
    StatusWrite(context).enter(phase::kStopped, text::kStoppedByUser).into(plan);
    return plan;
  }
  if (!spec.ttl.empty() && !parse_ttl(spec.ttl)) {
    return rejected(context, fmt::format(text::kInvalidTtl, spec.ttl));
  }
  if (!spec.schedule.empty()) {
    return recur(context);
  }
  if (auto waiting = await_start(context)) {
    return *std::move(waiting);
  }
  if (auto waiting = await_kinds(context)) {
    return *std::move(waiting);
  }
  if (const auto obstacle = first_obstacle(context)) {
    if (obstacle->waiting) {
      return await_answer(context);
    }
    return obstacle->retry ? Plan::retry(*obstacle->retry) : rejected(context, obstacle->message);
  }
  return accept(context);
}

}  // namespace athanor::fournos
