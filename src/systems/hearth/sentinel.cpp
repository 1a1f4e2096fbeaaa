// SPDX-License-Identifier: Apache-2.0
// The sentinel of a lock: made, handed over, made again, given up.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/lock.hpp"
#include "systems/hearth/lock_record.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/sentinel_names.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

constexpr Duration kFirstRetry = std::chrono::seconds(5);
constexpr Duration kLastRetry = std::chrono::minutes(5);
// After that long without a failure the pace starts anew.
constexpr Duration kForgetRetries = std::chrono::minutes(10);
constexpr std::size_t kMostNames = 5;
// Between looks at a sentinel that is not admitted yet, where nothing announces its admission.
constexpr Duration kPoll = std::chrono::seconds(5);

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

// Returns the lockOnly job that holds the cluster for its owner (docs/spec/hearth.md 9.1).
Value sentinel_object(const Tick& tick, const std::string& owner) {
  const std::string cluster = tick.name();
  Value object = Value::object(
      {{"apiVersion", api::kFournosJob.api_version()}, {"kind", api::kFournosJob.name}});
  object.set("metadata",
             Value::object(
                 {{"name", sentinel_name(tick.settings, cluster)},
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

// The one that counts: the holder of the cluster, else the one that the status names, else ours.
const Object* choose(const Tick& tick, const std::vector<Object>& sentinels) {
  const auto rank = [&](const Object& job) {
    if (is_admitted(job)) {
      return 0;
    }
    if (job.name() == tick.status().lock_job_name) {
      return 1;
    }
    return job.name() == sentinel_name(tick.settings, tick.name()) ? 2 : 3;
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
  Patch patch{.target = {&api::kFournosJob, sentinel.key()},
              .merge = std::move(merge),
              .guard = {.uid = std::string(sentinel.uid())}};
  if (!refused(tick.view, patch)) {
    steps.then(std::move(patch));
  }
}

// The Workload of the same name holds its quota. Where Workloads are hidden, the job's phase says
// so alone.
bool holds_quota(const Tick& tick, const Object& sentinel) {
  if (workloads_hidden(tick.view, tick.settings)) {
    return true;
  }
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

// Says what the release waits for; the lock counts as taken meanwhile.
void await_release(const Tick& tick, const std::string& why, StatusWrite& status, Plan& steps) {
  status.condition(condition::kLocked, tick.status().lock_state == state::kHeld, "Releasing",
                   one_line(why));
  steps.wake_at(tick.now + kLiveAge);
}

// True: the API server has no sentinel; what it has is deleted.
bool is_released(const Tick& tick, Sentinels sentinels, StatusWrite& status, Plan& steps) {
  const api::FournosClusterStatus& before = tick.status();
  const bool was_taken = before.locked || !before.lock_job_name.empty() ||
                         (!before.lock_state.empty() && before.lock_state != state::kUnlocked);
  if (sentinels.jobs.empty() && was_taken) {
    sentinels = live_sentinels(tick);
  }
  if (!sentinels.jobs.empty()) {
    steps.merge(drop_sentinels(sentinels.jobs));
    await_release(tick, fmt::format("waiting for {} to go", sentinels.jobs.front().name()), status,
                  steps);
    return false;
  }
  if (was_taken && sentinels.error) {
    await_release(tick, "the lock's job cannot be read: " + sentinels.error->message, status,
                  steps);
    return false;
  }
  if (was_taken && !sentinels.known) {
    steps.wake_at(tick.now + kLiveAge);
    return false;
  }
  return true;
}

void release(const Tick& tick, Sentinels sentinels, StatusWrite& status, Plan& steps) {
  if (!is_released(tick, std::move(sentinels), status, steps)) {
    return;
  }
  const LockRecord record = lock_record(tick);
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
  const std::string name = sentinel_name(tick.settings, tick.name());
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

// Replaces the watch where FournosJobs cannot be listed.
void poll(const Tick& tick, Plan& steps) {
  if (unreadable(tick.view, api::kFournosJob, tick.settings.execution_namespace)) {
    const bool held = tick.status().lock_state == state::kHeld;
    steps.wake_at(tick.now + (held ? tick.settings.tick() : std::min(tick.settings.tick(), kPoll)));
  }
}

}  // namespace

void keep_lock(const Tick& tick, StatusWrite& status, Plan& steps) {
  const std::string owner = owner_of(tick.spec());
  Sentinels found = sentinels_of(tick);
  if (workloads_hidden(tick.view, tick.settings)) {
    status.set("activeWorkloads", nullptr);
  } else {
    status.set("activeWorkloads", workloads_on(tick.view, tick.name()).size());
  }
  if (owner.empty()) {
    release(tick, std::move(found), status, steps);
    return;
  }
  poll(tick, steps);
  if (found.error) {
    enter(tick, status, state::kFailed, "SentinelFailed",
          one_line("the lock's job cannot be read: " + found.error->message));
    return;
  }
  if (!found.known) {
    steps.wake_at(tick.now + kLiveAge);
    return;
  }
  std::vector<Object>& sentinels = found.jobs;
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

}  // namespace athanor::hearth
