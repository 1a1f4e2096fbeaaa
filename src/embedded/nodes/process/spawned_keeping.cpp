// SPDX-License-Identifier: Apache-2.0
// Enforces limits of volumes and memory, and replaces tokens, on the keeper's thread.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/container_usage.hpp"
#include "embedded/nodes/process/files/folder_size.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"
#include "embedded/nodes/sandbox_spec.hpp"

namespace athanor::nodes {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kShortestPause = std::chrono::milliseconds(500);
constexpr int kShare = 40;  // of the time, one part at most is spent on measuring

struct LimitedVolume {
  std::string uid{}, name{}, path{}, limit{};
  std::int64_t bytes = 0;
};

struct MeasuredContainer {
  std::string uid{};
  std::size_t index = 0;
  std::int64_t process = 0;
  int pid = 0;
  std::optional<std::int64_t> limit{};  // its own
  std::int64_t bytes = 0;               // that it uses
  bool killed = false;                  // for its own limit: it gives its memory back
};

// The usage counts the pages which forked processes share once for each; this does not, and is
// slow.
std::int64_t exact_bytes(const MeasuredContainer& one) {
  return memory_without_shared_pages(one.pid).value_or(one.bytes);
}

// Returns the container of a pod that uses most, if all of them use more than the pod may.
const MeasuredContainer* largest_beyond(const std::vector<MeasuredContainer>& measured,
                                        const std::string& uid, std::int64_t limit) {
  const MeasuredContainer* largest = nullptr;
  std::int64_t sum = 0;
  for (const MeasuredContainer& one : measured) {
    if (one.uid == uid && !one.killed) {
      sum += one.bytes;
      largest = largest == nullptr || one.bytes > largest->bytes ? &one : largest;
    }
  }
  if (sum <= limit) {
    return nullptr;
  }
  sum = 0;
  for (const MeasuredContainer& one : measured) {
    sum += one.uid == uid && !one.killed ? exact_bytes(one) : 0;
  }
  return sum > limit ? largest : nullptr;
}

}  // namespace

void SpawnedRuntime::keep() {
  while (keeps_) {
    const auto begin = SteadyClock::now();
    measure_memory();
    measure_volumes();
    replace_tokens();
    const auto spent = SteadyClock::now() - begin;
    MutexLock lock(mutex_);
    stopping_.wait_for(lock, std::max<SteadyClock::duration>(kShortestPause, spent * kShare),
                       [this] { return !keeps_.load(); });
  }
}

void SpawnedRuntime::measure_volumes() {
  std::vector<LimitedVolume> volumes;
  {
    const MutexLock lock(mutex_);
    for (const auto& [uid, pod] : pods_) {
      for (const Value& volume : pod.machine.spec()["volumes"].items()) {
        if (volume["limitBytes"].is_integer() && !pod.machine.over()) {
          volumes.push_back({.uid = uid,
                             .name = volume["name"].str(),
                             .path = pod.directory.volume_path(volume),
                             .limit = volume["limit"].str(),
                             .bytes = volume["limitBytes"].as_int()});
        }
      }
    }
  }
  for (const LimitedVolume& volume : volumes) {
    if (folder_size(volume.path) <= volume.bytes) {
      continue;
    }
    const MutexLock lock(mutex_);
    if (const auto found = pods_.find(volume.uid); found != pods_.end()) {
      found->second.machine.evict(fmt::format(
          "Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ", volume.name, volume.limit));
      report(found->second);
      wake();
    }
  }
}

void SpawnedRuntime::measure_memory() {
  std::vector<MeasuredContainer> measured;
  std::map<std::string, std::int64_t, std::less<>> pods;  // limits of whole pods, by uid
  std::vector<int> pids;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, place] : processes_) {
      const Pod& pod = pods_.at(place.first);
      const auto pid = pids_.find(id);
      const Value& limits = pod.machine.spec()["limits"];
      const Value& own = limits[pod.machine.container(place.second)["name"].as_string()]["memory"];
      const Value& whole = limits[kWholePod]["memory"];
      const auto order = pod.orders.find(place.second);
      const bool grouped = order != pod.orders.end() && order->second["group"].is_string();
      const bool limited = own.is_integer() && !grouped;
      if (pid == pids_.end() || (!limited && !whole.is_integer())) {
        continue;
      }
      measured.push_back({.uid = place.first,
                          .index = place.second,
                          .process = id,
                          .pid = pid->second,
                          .limit = limited ? std::optional(own.as_int()) : std::nullopt});
      pids.push_back(pid->second);
      if (whole.is_integer()) {
        pods[place.first] = whole.as_int();
      }
    }
  }
  if (pids.empty()) {
    return;
  }
  const std::map<int, ContainerUsage> usage = usage_of(pids);
  for (MeasuredContainer& one : measured) {
    const auto used = usage.find(one.pid);
    one.bytes = used == usage.end() ? 0 : used->second.memory_bytes;
    if (one.limit && one.bytes > *one.limit && exact_bytes(one) > *one.limit) {
      kill_for_memory(one.uid, one.index, one.process);
      one.killed = true;
    }
  }
  for (const auto& [uid, limit] : pods) {
    if (const MeasuredContainer* largest = largest_beyond(measured, uid, limit)) {
      kill_for_memory(uid, largest->index, largest->process);
    }
  }
}

void SpawnedRuntime::kill_for_memory(const std::string& uid, std::size_t index,
                                     std::int64_t process) {
  const MutexLock lock(mutex_);
  const auto found = pods_.find(uid);
  if (found != pods_.end() && processes_.contains(process)) {
    found->second.machine.out_of_memory(index);
    send_frame(spawner_.socket(),
               Value::object({{"op", "signal"}, {"id", process}, {"signal", SIGKILL}}));
  }
}

void SpawnedRuntime::replace_tokens() {
  const Instant now = options_.clock->now();
  std::vector<std::string> old;
  {
    const MutexLock lock(mutex_);
    for (const auto& [uid, pod] : pods_) {
      if (pod.tokens_due && *pod.tokens_due <= now && !pod.machine.over()) {
        old.push_back(uid);
      }
    }
  }
  for (const std::string& uid : old) {
    std::optional<PodDirectory> directory;
    Value spec;
    const MutexLock writing(writing_);
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(uid);
      if (found == pods_.end() || !keeps_) {
        continue;
      }
      directory = found->second.directory;
      spec = found->second.machine.spec();
    }
    // Without the lock: a token is asked of the API server.
    const auto written = directory->update(spec, options_.tokens, now);
    if (!written.ok()) {
      log::warn("cannot replace the tokens of a pod",
                {{"pod", spec["name"].str()}, {"error", written.error().message}});
    }
    constexpr Duration kAgain = std::chrono::seconds(30);  // after a failure
    const auto due = written.ok() ? directory->tokens_due(spec) : std::optional(now + kAgain);
    const MutexLock lock(mutex_);
    if (const auto found = pods_.find(uid); found != pods_.end()) {
      found->second.tokens_due = due;
    }
  }
}

}  // namespace athanor::nodes
