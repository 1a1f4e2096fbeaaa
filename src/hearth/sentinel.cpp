// SPDX-License-Identifier: Apache-2.0
// The sentinel of a lock: made, handed over, made again, given up; and those that nobody wants any
// more.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/fournos.hpp"
#include "api/kueue.hpp"
#include "hearth/lock.hpp"
#include "hearth/lock_record.hpp"
#include "hearth/names.hpp"
#include "hearth/operators.hpp"
#include "hearth/span.hpp"
#include "kube/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"

namespace athanor::hearth {
namespace {

constexpr Duration kFirstRetry = std::chrono::seconds(5);
constexpr Duration kLastRetry = std::chrono::minutes(5);
// After that long without a failure the pace starts anew.
constexpr Duration kForgetRetries = std::chrono::minutes(10);
constexpr std::size_t kMostNames = 5;

bool is_over(const Object& job) {
  const std::string_view phase = job.status()["phase"].as_string();
  return phase == "Failed" || phase == "Stopped" || phase == "Succeeded";
}

bool is_admitted(const Object& job) {
  return job.status()["phase"].as_string() == "Admitted";
}

std::string display_name(const std::string& cluster, const std::string& owner) {
  return fmt::format("Cluster lock: {} (owner: {})", cluster, owner);
}

std::string own_name(const Settings& settings, const std::string& cluster) {
  return settings.lock_prefix + cluster;
}

// 9.1.
Value sentinel_object(const Tick& tick, const std::string& owner) {
  const std::string cluster = tick.name();
  Value object = Value::object(
      {{"apiVersion", api::kFournosJob.api_version()}, {"kind", api::kFournosJob.name}});
  object.set("metadata",
             Value::object(
                 {{"name", own_name(tick.settings, cluster)},
                  {"namespace", tick.settings.execution_namespace},
                  {"labels", Value::object({{name::kLockLabel, cluster}})},
                  {"annotations", Value::object({{name::kLockOf, tick.object().key().text()}})}}));
  object.set("spec",
             Value::object({{"cluster", cluster},
                            {"exclusive", true},
                            {"lockOnly", true},
                            {"owner", owner},
                            {"displayName", display_name(cluster, owner)},
                            {"executionEngine", Value::object({{"none", Value::object()}})}}));
  return object;
}

bool is_lock_of(const Object& job, const std::string& cluster) {
  return job.spec()["lockOnly"].as_bool() && job.spec()["cluster"].as_string() == cluster;
}

// The one that counts: whoever holds the cluster, else the one that the status names, else ours.
const Object* choose(const Tick& tick, const std::vector<Object>& sentinels) {
  const auto rank = [&](const Object& job) {
    if (is_admitted(job)) {
      return 0;
    }
    if (job.name() == tick.status().lock_job_name) {
      return 1;
    }
    return job.name() == own_name(tick.settings, tick.name()) ? 2 : 3;
  };
  const auto best = std::ranges::min_element(sentinels, {}, rank);
  return best == sentinels.end() ? nullptr : &*best;
}

struct Retries {
  std::int64_t count = 0;
  std::optional<Instant> last{};
};
Retries retries_of(const Tick& tick) {
  const std::string_view stored = tick.object().annotation(name::kLockRetries);
  const std::size_t blank = stored.find(' ');
  if (blank == std::string_view::npos) {
    return {};
  }
  Retries retries{.last = read_time(stored.substr(blank + 1))};
  std::from_chars(stored.data(), stored.data() + blank, retries.count);
  const bool old = !retries.last || tick.now - *retries.last > kForgetRetries;
  return old ? Retries{} : retries;
}

// A sentinel that ended is deleted after a pause; the next run makes another one.
void replace_later(const Tick& tick, const Object& sentinel, Plan& steps) {
  const Retries retries = retries_of(tick);
  Duration pause = kFirstRetry;
  for (std::int64_t i = 0; i < retries.count && pause < kLastRetry; ++i) {
    pause *= 2;
  }
  pause = std::min(pause, kLastRetry);
  const Instant ended = read_time(sentinel.status()["completionTime"].as_string())
                            .value_or(sentinel.creation_time().value_or(tick.now));
  const Instant due = std::max(ended, retries.last.value_or(ended)) + pause;
  if (due > tick.now) {
    steps.wake_at(due);
    return;
  }
  Value merge = Value::object();
  merge.set_path({"metadata", "annotations", name::kLockRetries},
                 fmt::format("{} {}", retries.count + 1, format_time(tick.now)));
  steps.then(Patch{.target = tick.ref(), .merge = std::move(merge), .guard = {.uid = tick.uid()}});
  steps.then(Delete{.target = {&api::kFournosJob, sentinel.key()},
                    .guard = {.uid = std::string(sentinel.uid())}});
}

void hand_over(const Tick& tick, const Object& sentinel, const std::string& owner, Plan& steps) {
  if (sentinel.spec()["owner"].as_string() == owner) {
    return;
  }
  Value merge = Value::object();
  merge.set_path({"spec", "owner"}, owner);
  merge.set_path({"spec", "displayName"}, display_name(tick.name(), owner));
  steps.then(Patch{.target = {&api::kFournosJob, sentinel.key()},
                   .merge = std::move(merge),
                   .guard = {.uid = std::string(sentinel.uid())}});
}

// The Workload of the same name holds its quota.
bool holds_quota(const Tick& tick, const Object& sentinel) {
  const auto workload = tick.view.get(api::kueue::kWorkload, sentinel.key());
  return workload && workload->owned_by(sentinel.uid()) &&
         condition_is(workload->status()["conditions"], "QuotaReserved", "True") &&
         !condition_is(workload->status()["conditions"], "Evicted", "True");
}

// "waiting for 2 running workloads: a, b"; empty when none is in the way.
std::string obstacles(const Tick& tick, std::string_view sentinel) {
  std::vector<std::string> names;
  for (const Object& workload : workloads_on(tick.view, tick.name())) {
    if (workload.name() != sentinel) {
      names.emplace_back(workload.name());
    }
  }
  if (names.empty()) {
    return {};
  }
  std::string text =
      fmt::format("waiting for {} running workload{}", names.size(), names.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? ": " : ", ") + names[i];
  }
  return text;
}

// A time as it is stored already, when it is the same: upstream writes it in another form.
std::string time_text(const std::string& stored, Instant instant) {
  return read_time(stored) == std::optional(instant) ? stored : format_time(instant);
}

void enter(const Tick& tick, StatusWrite& status, std::string_view lock_state,
           std::string_view reason, const std::string& message) {
  status.set("lockState", lock_state);
  status.condition(condition::kLocked, lock_state == state::kHeld, reason, message);
  const std::string& before = tick.status().lock_state;
  if (before == lock_state) {
    return;
  }
  if (lock_state == state::kHeld) {
    status.then(tick.event("Normal", "LockHeld", message));
  } else if (lock_state == state::kLost) {
    status.then(tick.event("Warning", "LockLost", message));
  } else if (lock_state == state::kAcquiring) {
    status.then(tick.event("Normal", "LockAcquiring", message));
  } else if (lock_state == state::kFailed) {
    status.then(tick.event("Warning", "SentinelFailed", message));
  }
}

void wait(const Tick& tick, StatusWrite& status, std::string_view sentinel,
          std::string_view otherwise) {
  const std::string& before = tick.status().lock_state;
  const bool lost = before == state::kHeld || before == state::kLost;
  std::string message = obstacles(tick, sentinel);
  if (message.empty()) {
    message = otherwise;
  }
  enter(tick, status, lost ? state::kLost : state::kAcquiring, lost ? "SentinelLost" : "Acquiring",
        one_line(message));
}

void release(const Tick& tick, const std::vector<Object>& sentinels, StatusWrite& status,
             Plan& steps) {
  const LockRecord record = lock_record(tick);
  steps.merge(drop_sentinels(sentinels));
  status.set("locked", false);
  for (const char* key : {"lockExpiresAt", "ownerSetAt", "lockJobName"}) {
    status.set(key, nullptr);
  }
  status.set("lockState", state::kUnlocked);
  if (record.expired) {
    status.condition(condition::kLocked, false, "Expired",
                     fmt::format("the lock of {} expired", record.owner));
    return;
  }
  status.condition(condition::kLocked, false, "Unlocked", "");
  if (tick.status().locked) {
    status.then(tick.event("Normal", "LockReleased", "the cluster is unlocked"));
  }
}

void make(const Tick& tick, const std::string& owner, StatusWrite& status, Plan& steps) {
  const std::string name = own_name(tick.settings, tick.name());
  status.set("lockJobName", name);
  Create create{.target = {&api::kFournosJob, {tick.settings.execution_namespace, name}},
                .object = sentinel_object(tick, owner)};
  if (const auto error = refused(tick.view, create)) {
    enter(tick, status, state::kFailed, "SentinelFailed", one_line(error->message));
  } else {
    wait(tick, status, name, "the lock's job is being created");
  }
  steps.then(std::move(create));
}

}  // namespace

std::vector<Object> sentinels_of(const View& view, const Settings& settings,
                                 const std::string& cluster) {
  const std::string& ns = settings.execution_namespace;
  std::vector<Object> found =
      view.list(api::kFournosJob, {.ns = ns, .labels = {{std::string(name::kLockLabel), cluster}}});
  for (const std::string& other :
       {own_name(settings, cluster), std::string(name::kUpstreamLockPrefix) + cluster}) {
    const auto job = view.get(api::kFournosJob, {ns, other});
    const bool known = std::ranges::any_of(
        found, [&](const Object& one) { return one.name() == std::string_view(other); });
    if (job && !known && is_lock_of(*job, cluster)) {
      found.push_back(*job);
    }
  }
  return found;
}

Plan drop_sentinels(const std::vector<Object>& sentinels) {
  Plan plan;
  for (const Object& sentinel : sentinels) {
    if (!sentinel.deleting()) {
      plan.then(Delete{.target = {&api::kFournosJob, sentinel.key()},
                       .guard = {.uid = std::string(sentinel.uid())}});
    }
  }
  return plan;
}

void keep_lock(const Tick& tick, StatusWrite& status, Plan& steps) {
  const std::string owner = owner_of(tick.spec());
  std::vector<Object> sentinels = sentinels_of(tick.view, tick.settings, tick.name());
  status.set("activeWorkloads", workloads_on(tick.view, tick.name()).size());
  if (owner.empty()) {
    release(tick, sentinels, status, steps);
    return;
  }
  const LockRecord record = lock_record(tick);
  const auto end = lock_end(tick, record);
  status.set("locked", true);
  status.set_text("ownerSetAt", record.since ? time_text(tick.status().owner_set_at, *record.since)
                                             : std::string());
  status.set_text("lockExpiresAt",
                  end ? time_text(tick.status().lock_expires_at, *end) : std::string());
  const Object* chosen = choose(tick, sentinels);
  if (chosen == nullptr) {
    make(tick, owner, status, steps);
    return;
  }
  const Object sentinel = *chosen;
  std::erase_if(sentinels, [&](const Object& one) { return one.uid() == sentinel.uid(); });
  steps.merge(drop_sentinels(sentinels));
  status.set("lockJobName", sentinel.name());
  if (sentinel.deleting()) {
    wait(tick, status, sentinel.name(), "the lock's former job is going");
    return;
  }
  if (is_over(sentinel)) {
    const std::string message = sentinel.status()["message"].str();
    enter(tick, status, state::kFailed, "SentinelFailed",
          one_line(message.empty() ? sentinel.status()["phase"].str() : message));
    replace_later(tick, sentinel, steps);
    return;
  }
  hand_over(tick, sentinel, owner, steps);
  if (is_admitted(sentinel) && holds_quota(tick, sentinel)) {
    enter(tick, status, state::kHeld, "Held", fmt::format("held by {}", owner));
  } else {
    wait(tick, status, sentinel.name(), sentinel.status()["message"].as_string());
  }
}

// ---- workloads by flavor

namespace {

std::vector<std::string> flavors_of(const Object& workload) {
  std::vector<std::string> flavors;
  const Value& conditions = workload.status()["conditions"];
  if (condition_is(conditions, "Finished", "True")) {
    return flavors;
  }
  const Value& admission = workload.status()["admission"];
  for (const Value& pod_set : admission["podSetAssignments"].items()) {
    for (const Member& flavor : pod_set["flavors"].members()) {
      flavors.push_back(flavor.value.str());
    }
  }
  std::ranges::sort(flavors);
  const auto repeated = std::ranges::unique(flavors);
  flavors.erase(repeated.begin(), repeated.end());
  return flavors;
}

// ---- sentinels without a cluster

bool is_ours(const Object& job, const Settings& settings, const std::string& cluster) {
  return job.annotation(name::kLockOf) == settings.ns + "/" + cluster ||
         job.name() == own_name(settings, cluster) ||
         job.name() == std::string(name::kUpstreamLockPrefix) + cluster;
}

Plan collect(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  if (key.ns != settings.execution_namespace) {
    return Plan::done();
  }
  const auto job = view.get(api::kFournosJob, key);
  const std::string cluster(job ? job->label(name::kLockLabel) : std::string_view());
  if (cluster.empty() || job->deleting() || !is_lock_of(*job, cluster) ||
      !is_ours(*job, settings, cluster) || view.get(api::kFournosCluster, {settings.ns, cluster})) {
    return Plan::done();
  }
  const Live live = read_live(view, api::kFournosCluster, {settings.ns, cluster}, now);
  Plan plan;
  if (!live.known) {
    plan.wake_at(now + kLiveAge);
  } else if (live.absent()) {
    plan = drop_sentinels({*job});
  }
  return plan;
}

constexpr const Kind* kReads[] = {&api::kFournosCluster};
constexpr const Kind* kWrites[] = {&api::kFournosJob};
constexpr Access kAccess[] = {{&api::kFournosJob, "delete"}, {&api::kFournosCluster, "get"}};

}  // namespace

const Index& flavor_index() {
  static constexpr Index kIndex{
      .kind = &api::kueue::kWorkload, .name = "hearth-flavor", .values = flavors_of};
  return kIndex;
}

std::vector<Object> workloads_on(const View& view, const std::string& cluster) {
  return view.list(api::kueue::kWorkload,
                   {.index = std::string(flavor_index().name), .index_value = cluster});
}

const Operator& sentinel_operator() {
  static constexpr Operator kOperator{
      .name = "hearth-sentinels",
      .primary = &api::kFournosJob,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = collect,
      // Whether there is a cluster is all that matters here.
      .overlooks = [](const Kind& kind, const Object& /*before*/,
                      const Object& /*after*/) { return &kind == &api::kFournosCluster; },
      .access = kAccess};
  return kOperator;
}

}  // namespace athanor::hearth
