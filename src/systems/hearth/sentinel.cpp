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
constexpr std::size_t kMostSentinelNames = 5;
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
Value sentinel_object(const Context& context, const std::string& owner) {
  const std::string cluster = context.name();
  Value object = Value::object(
      {{"apiVersion", api::kFournosJob.api_version()}, {"kind", api::kFournosJob.name}});
  object.set("metadata",
             Value::object({{"name", sentinel_name(context.settings, cluster)},
                            {"namespace", context.settings.execution_namespace},
                            {"labels", Value::object({{name::kLockLabel, cluster}})},
                            {"annotations",
                             Value::object({{name::kLockOf, context.object().key().text()}})}}));
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
const Object* choose(const Context& context, const std::vector<Object>& sentinels) {
  const auto rank = [&](const Object& job) {
    if (is_admitted(job)) {
      return 0;
    }
    if (job.name() == context.status().lock_job_name) {
      return 1;
    }
    return job.name() == sentinel_name(context.settings, context.name()) ? 2 : 3;
  };
  const auto best = std::ranges::min_element(sentinels, {}, rank);
  return best == sentinels.end() ? nullptr : &*best;
}

struct Retries {
  std::int64_t count = 0;
  std::optional<Instant> last{};
};
Retries retries_of(const Context& context) {
  const std::string_view stored = context.object().annotation(name::kLockRetries);
  const std::size_t blank = stored.find(' ');
  if (blank == std::string_view::npos) {
    return {};
  }
  Retries retries{.last = read_time(stored.substr(blank + 1))};
  std::from_chars(stored.data(), stored.data() + blank, retries.count);
  const bool old = !retries.last || context.now - *retries.last > kForgetRetries;
  return old ? Retries{} : retries;
}

// A sentinel that ended is deleted after a pause; the next run makes another one.
void replace_later(const Context& context, const Object& sentinel, Plan& steps) {
  const Retries retries = retries_of(context);
  Duration pause = kFirstRetry;
  for (std::int64_t i = 0; i < retries.count && pause < kLastRetry; ++i) {
    pause *= 2;
  }
  pause = std::min(pause, kLastRetry);
  const Instant ended = read_time(sentinel.status()["completionTime"].as_string())
                            .value_or(sentinel.creation_time().value_or(context.now));
  const Instant due = std::max(ended, retries.last.value_or(ended)) + pause;
  if (due > context.now) {
    steps.wake_at(due);
    return;
  }
  Value merge = Value::object();
  merge.set_path({"metadata", "annotations", name::kLockRetries},
                 fmt::format("{} {}", retries.count + 1, format_time(context.now)));
  steps.then(
      Patch{.target = context.ref(), .merge = std::move(merge), .guard = {.uid = context.uid()}});
  steps.then(Delete{.target = {&api::kFournosJob, sentinel.key()},
                    .guard = {.uid = std::string(sentinel.uid())}});
}

void hand_over(const Context& context, const Object& sentinel, const std::string& owner,
               Plan& steps) {
  if (sentinel.spec()["owner"].as_string() == owner) {
    return;
  }
  Value merge = Value::object();
  merge.set_path({"spec", "owner"}, owner);
  merge.set_path({"spec", "displayName"}, display_name(context.name(), owner));
  Patch patch{.target = {&api::kFournosJob, sentinel.key()},
              .merge = std::move(merge),
              .guard = {.uid = std::string(sentinel.uid())}};
  if (!refused(context.view, patch)) {
    steps.then(std::move(patch));
  }
}

// The Workload of the same name holds its quota. Where Workloads are hidden, the job's phase says
// so alone.
bool holds_quota(const Context& context, const Object& sentinel) {
  if (workloads_hidden(context.view, context.settings)) {
    return true;
  }
  const auto workload = context.view.get(api::kueue::kWorkload, sentinel.key());
  return workload && workload->owned_by(sentinel.uid()) &&
         condition_is(workload->status()["conditions"], "QuotaReserved", "True") &&
         !condition_is(workload->status()["conditions"], "Evicted", "True");
}

// "waiting for 2 running workloads: a, b"; empty when none is in the way.
std::string obstacles(const Context& context, std::string_view sentinel) {
  std::vector<std::string> names;
  for (const Object& workload : workloads_on(context.view, context.name())) {
    if (workload.name() != sentinel) {
      names.emplace_back(workload.name());
    }
  }
  if (names.empty()) {
    return {};
  }
  std::string text =
      fmt::format("waiting for {} running workload{}", names.size(), names.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(names.size(), kMostSentinelNames); ++i) {
    text += (i == 0 ? ": " : ", ") + names[i];
  }
  return text;
}

// A time as it is stored already, when it is the same: upstream writes it in another form.
std::string time_text(const std::string& stored, Instant instant) {
  return read_time(stored) == std::optional(instant) ? stored : format_time(instant);
}

void enter(const Context& context, StatusWrite& status, std::string_view lock_state,
           std::string_view reason, const std::string& message) {
  status.set("lockState", lock_state);
  status.condition(condition::kLocked, lock_state == state::kHeld, reason, message);
  const std::string& before = context.status().lock_state;
  if (before == lock_state) {
    return;
  }
  if (lock_state == state::kHeld) {
    status.then(context.event("Normal", "LockHeld", message));
  } else if (lock_state == state::kLost) {
    status.then(context.event("Warning", "LockLost", message));
  } else if (lock_state == state::kAcquiring) {
    status.then(context.event("Normal", "LockAcquiring", message));
  } else if (lock_state == state::kFailed) {
    status.then(context.event("Warning", "SentinelFailed", message));
  }
}

void wait(const Context& context, StatusWrite& status, std::string_view sentinel,
          std::string_view otherwise) {
  const std::string& before = context.status().lock_state;
  const bool lost = before == state::kHeld || before == state::kLost;
  std::string message = obstacles(context, sentinel);
  if (message.empty()) {
    message = otherwise;
  }
  enter(context, status, lost ? state::kLost : state::kAcquiring,
        lost ? "SentinelLost" : "Acquiring", one_line(message));
}

// Says what the release waits for; the lock counts as taken meanwhile.
void await_release(const Context& context, const std::string& why, StatusWrite& status,
                   Plan& steps) {
  status.condition(condition::kLocked, context.status().lock_state == state::kHeld, "Releasing",
                   one_line(why));
  steps.wake_at(context.now + kLiveAge);
}

// True: the API server has no sentinel; what it has is deleted.
bool is_released(const Context& context, Sentinels sentinels, StatusWrite& status, Plan& steps) {
  const api::FournosClusterStatus& before = context.status();
  const bool was_taken = before.locked || !before.lock_job_name.empty() ||
                         (!before.lock_state.empty() && before.lock_state != state::kUnlocked);
  if (sentinels.jobs.empty() && was_taken) {
    sentinels = live_sentinels(context);
  }
  if (!sentinels.jobs.empty()) {
    steps.merge(drop_sentinels(sentinels.jobs));
    await_release(context, fmt::format("waiting for {} to go", sentinels.jobs.front().name()),
                  status, steps);
    return false;
  }
  if (was_taken && sentinels.error) {
    await_release(context, "the lock's job cannot be read: " + sentinels.error->message, status,
                  steps);
    return false;
  }
  if (was_taken && !sentinels.known) {
    steps.wake_at(context.now + kLiveAge);
    return false;
  }
  return true;
}

void release(const Context& context, Sentinels sentinels, StatusWrite& status, Plan& steps) {
  if (!is_released(context, std::move(sentinels), status, steps)) {
    return;
  }
  const LockRecord record = lock_record(context);
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
  if (context.status().locked) {
    status.then(context.event("Normal", "LockReleased", "the cluster is unlocked"));
  }
}

void make(const Context& context, const std::string& owner, StatusWrite& status, Plan& steps) {
  const std::string name = sentinel_name(context.settings, context.name());
  status.set("lockJobName", name);
  Create create{.target = {&api::kFournosJob, {context.settings.execution_namespace, name}},
                .object = sentinel_object(context, owner)};
  if (const auto error = refused(context.view, create)) {
    enter(context, status, state::kFailed, "SentinelFailed", one_line(error->message));
  } else {
    wait(context, status, name, "the lock's job is being created");
  }
  steps.then(std::move(create));
}

// Replaces the watch where FournosJobs cannot be listed.
void poll(const Context& context, Plan& steps) {
  if (unreadable(context.view, api::kFournosJob, context.settings.execution_namespace)) {
    const bool held = context.status().lock_state == state::kHeld;
    steps.wake_at(context.now + (held ? context.settings.context()
                                      : std::min(context.settings.context(), kPoll)));
  }
}

}  // namespace

void keep_lock(const Context& context, StatusWrite& status, Plan& steps) {
  const std::string owner = owner_of(context.spec());
  Sentinels found = sentinels_of(context);
  if (workloads_hidden(context.view, context.settings)) {
    status.set("activeWorkloads", nullptr);
  } else {
    status.set("activeWorkloads", workloads_on(context.view, context.name()).size());
  }
  if (owner.empty()) {
    release(context, std::move(found), status, steps);
    return;
  }
  poll(context, steps);
  if (found.error) {
    enter(context, status, state::kFailed, "SentinelFailed",
          one_line("the lock's job cannot be read: " + found.error->message));
    return;
  }
  if (!found.known) {
    steps.wake_at(context.now + kLiveAge);
    return;
  }
  std::vector<Object>& sentinels = found.jobs;
  const LockRecord record = lock_record(context);
  const auto end = lock_end(context, record);
  status.set("locked", true);
  status.set_text("ownerSetAt", record.since
                                    ? time_text(context.status().owner_set_at, *record.since)
                                    : std::string());
  status.set_text("lockExpiresAt",
                  end ? time_text(context.status().lock_expires_at, *end) : std::string());
  const Object* chosen = choose(context, sentinels);
  if (chosen == nullptr) {
    make(context, owner, status, steps);
    return;
  }
  const Object sentinel = *chosen;
  std::erase_if(sentinels, [&](const Object& one) { return one.uid() == sentinel.uid(); });
  steps.merge(drop_sentinels(sentinels));
  status.set("lockJobName", sentinel.name());
  if (sentinel.deleting()) {
    wait(context, status, sentinel.name(), "the lock's former job is going");
    return;
  }
  if (is_over(sentinel)) {
    const std::string message = sentinel.status()["message"].str();
    enter(context, status, state::kFailed, "SentinelFailed",
          one_line(message.empty() ? sentinel.status()["phase"].str() : message));
    replace_later(context, sentinel, steps);
    return;
  }
  hand_over(context, sentinel, owner, steps);
  if (is_admitted(sentinel) && holds_quota(context, sentinel)) {
    enter(context, status, state::kHeld, "Held", fmt::format("held by {}", owner));
  } else {
    wait(context, status, sentinel.name(), sentinel.status()["message"].as_string());
  }
}

}  // namespace athanor::hearth
