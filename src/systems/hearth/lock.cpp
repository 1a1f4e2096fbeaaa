// SPDX-License-Identifier: Apache-2.0
// Who may have the cluster, until when: the record of a lock. The sentinel is in sentinel.cpp.
#include "systems/hearth/lock.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "runtime/view/live.hpp"
#include "systems/hearth/lock_record.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kExpired = "expired ";
constexpr Duration kWarning = std::chrono::minutes(10);

// What upstream left: the owner's sentinel is there, and the status says since when.
std::optional<Instant> adopted_since(const Context& context, const std::string& owner) {
  if (!context.status().locked) {
    return std::nullopt;
  }
  for (const Object& sentinel : sentinels_of(context).jobs) {
    if (sentinel.spec()["owner"].as_string() == owner) {
      return read_time(context.status().owner_set_at);
    }
  }
  return std::nullopt;
}

void start(const Context& context, const std::string& owner, const LockRecord& record,
           MainPatch& patch) {
  const bool first_sight = record.owner.empty() && !record.expired;
  const auto since = first_sight ? adopted_since(context, owner) : std::nullopt;
  patch.annotate(name::kLock,
                 fmt::format("{} {}", format_time(since.value_or(context.now)), owner));
  patch.annotate(name::kLockWarned, nullptr);
  patch.annotate(name::kLockRetries, nullptr);
}

void expire(const Context& context, const std::string& owner, Duration ttl, MainPatch& patch) {
  patch.set({"spec", "owner"}, "");
  patch.annotate(name::kLock, std::string(kExpired) + owner);
  patch.annotate(name::kLockWarned, nullptr);
  patch.annotate(name::kLockRetries, nullptr);
  patch.then(
      context.event(ttl == Duration::zero() ? "Warning" : "Normal", "LockExpired",
                    fmt::format("the lock of {} expired after {}", owner, context.spec().ttl)));
}

void warn(const Context& context, const std::string& owner, Instant end, MainPatch& patch) {
  const std::string when = format_time(end);
  if (context.object().annotation(name::kLockWarned) == when) {
    return;
  }
  patch.annotate(name::kLockWarned, when);
  patch.then(context.event("Normal", "LockExpiresSoon",
                           fmt::format("the lock of {} expires at {}", owner, when)));
}

}  // namespace

LockRecord lock_record(const Context& context) {
  const std::string_view stored = context.object().annotation(name::kLock);
  if (stored.starts_with(kExpired)) {
    return {.expired = true, .owner = std::string(stored.substr(kExpired.size()))};
  }
  const std::size_t blank = stored.find(' ');
  const auto since =
      blank == std::string_view::npos ? std::nullopt : read_time(stored.substr(0, blank));
  return since ? LockRecord{.since = since, .owner = std::string(stored.substr(blank + 1))}
               : LockRecord{};
}

std::optional<Instant> lock_end(const Context& context, const LockRecord& record) {
  const auto ttl = parse_span(context.spec().ttl);
  return ttl && record.since ? std::optional(end_of(*record.since, *ttl)) : std::nullopt;
}

std::string owner_of(const api::FournosClusterSpec& spec) {
  return std::string(trimmed(spec.owner));
}

void keep_lock_record(const Context& context, MainPatch& patch, Plan& plan) {
  const std::string owner = owner_of(context.spec());
  const LockRecord record = lock_record(context);
  if (owner.empty()) {
    if (!record.expired) {
      patch.annotate(name::kLock, nullptr);
    }
    patch.annotate(name::kLockWarned, nullptr);
    patch.annotate(name::kLockRetries, nullptr);
    return;
  }
  if (!record.since || record.owner != owner) {
    if (const Sentinels found = sentinels_of(context); !found.known && !found.error) {
      plan.wake_at(context.now + kLiveAge);  // whether there is a lock to adopt
      return;
    }
    start(context, owner, record, patch);
    return;
  }
  const auto end = lock_end(context, record);
  if (!end) {
    return;
  }
  const Duration ttl = *parse_span(context.spec().ttl);
  if (*end <= context.now) {
    expire(context, owner, ttl, patch);
    return;
  }
  plan.wake_at(*end);
  const Instant soon = *end - std::min<Duration>(kWarning, ttl / 2);
  if (soon <= context.now) {
    warn(context, owner, *end, patch);
  } else {
    plan.wake_at(soon);
  }
}

}  // namespace athanor::hearth
