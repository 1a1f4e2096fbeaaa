// SPDX-License-Identifier: Apache-2.0
// The thread of the runtime: reports of the spawner, deadlines, the listener.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"

namespace athanor::nodes {

void SpawnedRuntime::loop() {
  FrameReader reader;
  bool connected = true;
  while (!stops_) {
    // A negative descriptor is not polled.
    pollfd polled[] = {{connected ? spawner_.socket() : -1, POLLIN, 0}, {wake_, POLLIN, 0}};
    ::poll(polled, 2, poll_timeout());
    std::uint64_t count = 0;
    static_cast<void>(::read(wake_, &count, sizeof count));
    if (polled[0].revents != 0) {
      connected = reader.fill(spawner_.socket());
      while (const auto event = reader.next()) {
        take(*event);
      }
      if (!connected) {
        lose_all();
      }
    }
    handle_deadlines();
    publish();
  }
}

void SpawnedRuntime::handle_deadlines() {
  const MutexLock lock(mutex_);
  const Instant now = options_.clock->now();
  std::vector<std::string> uids;
  for (const auto& [due, uid] : deadlines_) {
    if (due > now) {
      break;
    }
    uids.push_back(uid);
  }
  for (const std::string& uid : uids) {
    advance(uid, pods_.at(uid));
  }
}

int SpawnedRuntime::poll_timeout() const {
  const MutexLock lock(mutex_);
  constexpr std::int64_t kLongest = 60'000;
  std::int64_t timeout = notices_.empty() ? kLongest : 0;
  if (!deadlines_.empty()) {
    const Duration left = deadlines_.begin()->first - options_.clock->now();
    timeout = std::min(timeout, std::max<std::int64_t>(0, left.count() / 1000 + 1));
  }
  return static_cast<int>(timeout);
}

void SpawnedRuntime::publish() {
  Notices notices;
  {
    const MutexLock lock(mutex_);
    notices.swap(notices_);
  }
  const MutexLock telling(telling_);
  if (listener_) {
    for (const auto& [query, state] : notices) {
      listener_(query, state);
    }
  }
}

void SpawnedRuntime::take_isolation(const std::string& missing) {
  if (missing.empty()) {
    return;
  }
  log::warn("containers are isolated less than they could be", {{"missing", missing}});
  const MutexLock lock(mutex_);
  missing_isolation_ = missing;
  for (auto& [uid, pod] : pods_) {  // those that were quicker
    warn_of_isolation(pod);
    report(pod);
  }
}

void SpawnedRuntime::warn_of_isolation(Pod& pod) const {
  if (!missing_isolation_.empty() && !pod.machine.over()) {
    pod.machine.warn("IsolationReduced",
                     "Containers are isolated less than they could be: " + missing_isolation_);
  }
}

void SpawnedRuntime::take_volume(const Value& event) {
  const std::string text = fmt::format("Volume \"{}\" of medium Memory is on the disk: {}",
                                       event["volume"].as_string(), event["problem"].as_string());
  log::warn("a volume is not in memory", {{"problem", text}});
  const MutexLock lock(mutex_);
  if (const auto found = pods_.find(event["uid"].str()); found != pods_.end()) {
    found->second.machine.warn("VolumeNotInMemory", text);
    report(found->second);
  }
}

void SpawnedRuntime::take(const Value& event) {
  const std::int64_t id = event["id"].as_int();
  const int code = static_cast<int>(event["code"].as_int());
  const std::string_view kind = event["event"].as_string();
  if (kind == "isolation" || kind == "memory") {
    return kind == "memory" ? take_volume(event) : take_isolation(event["missing"].str());
  }
  std::optional<EndedContainer> ended_one;
  {
    const MutexLock lock(mutex_);
    const auto process = processes_.find(id);
    if (process == processes_.end()) {
      if (kind == "exited" && execs_.erase(id) > 0) {
        sessions_.finish(id, code);
      } else if (kind == "exited" && check_execs_.erase(id) > 0) {
        checks_->ended(id, code);
      }
      return;
    }
    const auto [uid, index] = process->second;
    const Pod& pod = pods_.at(uid);
    if (kind == "started") {
      pids_[id] = static_cast<int>(event["pid"].as_int());
    }
    if (kind == "log") {
      logs_.grew(uid, pod.machine.container(index)["name"].as_string());
    }
    if (kind != "exited") {
      return;
    }
    ended_one = EndedContainer{.directory = pod.directory,
                               .container = pod.machine.container(index),
                               .is_step = pod.machine.spec()["sequential"].as_bool()};
  }
  const ContainerEnding ending = ending_of(*ended_one, code);
  run_poststop(options_.folder, ended_one->container);
  remover_.add(ended_one->directory.layer_path(id));
  const MutexLock lock(mutex_);
  ended(id, ending);
}

void SpawnedRuntime::ended(std::int64_t id, const ContainerEnding& ending) {
  const auto [uid, index] = processes_.at(id);
  processes_.erase(id);
  pids_.erase(id);
  sessions_.finish(id, 0);  // those who are attached
  Pod& pod = pods_.at(uid);
  pod.processes.erase(index);
  pod.inputs.erase(index);
  const std::string name = pod.machine.container(index)["name"].str();
  if (const auto order = pod.orders.find(index);
      order != pod.orders.end() && order->second["group"].is_string()) {
    const std::string group = order->second["group"].str();
    if (ContainerGroups::ran_out_of_memory(group)) {
      pod.machine.out_of_memory(index);
    }
    ContainerGroups::remove(group);
  }
  pod.machine.exited(index, ending.code, ending.message, options_.clock->now());
  logs_.end_container(uid, name);
  advance(uid, pod);
  if (processes_.empty()) {
    idle_.notify_all();
  }
}

void SpawnedRuntime::lose_all() {
  const MutexLock lock(mutex_);
  constexpr int kKilled = 137;
  log::error("the spawner of pod processes ended unexpectedly; pods cannot run any more");
  while (!processes_.empty()) {
    ended(processes_.begin()->first, {.code = kKilled});
  }
  for (const std::int64_t exec : std::exchange(execs_, {})) {
    sessions_.finish(exec, kKilled);
  }
  for (const std::int64_t exec : std::exchange(check_execs_, {})) {
    checks_->ended(exec, kKilled);
  }
}

}  // namespace athanor::nodes
