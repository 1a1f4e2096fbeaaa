// SPDX-License-Identifier: Apache-2.0
// Enforces limits of volumes and memory, and replaces tokens, on the keeper's thread.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/container_usage.hpp"
#include "embedded/nodes/process/files/folder_size.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"

namespace athanor::nodes {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kShortestPause = std::chrono::milliseconds(500);
constexpr int kShare = 40;  // of the time, one part at most is spent on measuring

struct LimitedVolume {
  std::string uid{}, name{}, path{}, limit{};
  std::int64_t bytes = 0;
};

struct LimitedContainer {
  std::string uid{};
  std::size_t index = 0;
  std::int64_t process = 0;
  std::int64_t bytes = 0;
};

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
  std::map<int, LimitedContainer> limited;  // by first process
  std::vector<int> pids;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, place] : processes_) {
      const PodMachine& machine = pods_.at(place.first).machine;
      const auto pid = pids_.find(id);
      const Value& limit =
          machine.spec()["limits"][machine.container(place.second)["name"].as_string()];
      if (pid != pids_.end() && limit.is_integer()) {
        limited[pid->second] = {
            .uid = place.first, .index = place.second, .process = id, .bytes = limit.as_int()};
        pids.push_back(pid->second);
      }
    }
  }
  if (pids.empty()) {
    return;
  }
  for (const auto& [pid, used] : usage_of(pids)) {
    const LimitedContainer& one = limited.at(pid);
    if (used.memory_bytes <= one.bytes) {
      continue;
    }
    // That counts the pages which forked processes share once for each: this does not, and is slow.
    if (const auto exact = memory_without_shared_pages(pid); exact && *exact <= one.bytes) {
      continue;
    }
    const MutexLock lock(mutex_);
    const auto found = pods_.find(one.uid);
    const auto process = processes_.find(one.process);
    if (found != pods_.end() && process != processes_.end()) {
      found->second.machine.out_of_memory(one.index);
      send_frame(spawner_.socket(),
                 Value::object({{"op", "signal"}, {"id", one.process}, {"signal", SIGKILL}}));
    }
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
