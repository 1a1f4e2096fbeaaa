// SPDX-License-Identifier: Apache-2.0
// The pods of the runtime: their beginning, changes and end.
#include "embedded/nodes/process/process_runtime.hpp"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/files/folder.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"

namespace athanor::nodes {

struct SpawnedRuntime::Thread {
  std::jthread thread{};
  std::jthread keeper{};
};

SpawnedRuntime::SpawnedRuntime(Spawner spawner, ProcessRuntimeOptions options)
    : spawner_(std::move(spawner)),
      options_(std::move(options)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const std::string& folder : options_.own_folders) {
    own_folders_.push_back(folder);
  }
  if (options_.isolate) {
    send_frame(spawner_.socket(), Value::object({{"op", "prepare"}, {"folder", options_.folder}}));
  }
  thread_ = std::make_unique<Thread>();
  thread_->thread = std::jthread([this] { loop(); });
  thread_->keeper = std::jthread([this] { keep(); });
}

SpawnedRuntime::~SpawnedRuntime() {
  stops_ = true;
  wake();
  end_keeper();
  thread_->thread.join();
  checks_.reset();
  ::close(wake_);
}

void SpawnedRuntime::listen(Listener listener) {
  const MutexLock telling(telling_);
  listener_ = std::move(listener);
}

void SpawnedRuntime::start(const Value& spec) {
  const std::string uid = spec["uid"].str();
  {
    const MutexLock lock(mutex_);
    if (closing_ || pods_.contains(uid) || !preparing_.insert(uid).second) {
      return;
    }
  }
  // Without the lock: files take time, and a token is asked of the API server, which may be
  // asking for a log right now.
  PodDirectory directory(options_.folder, spec);
  directory.remove();  // a pod of before a restart may have left files: it starts afresh
  const auto prepared = directory.prepare(spec, options_.tokens, options_.clock->now());
  {
    const MutexLock lock(mutex_);
    preparing_.erase(uid);
    Pod& pod =
        pods_
            .emplace(uid, Pod{.machine = PodMachine(spec),
                              .directory = std::move(directory),
                              .query = pod_query(spec["ns"].as_string(), spec["name"].as_string())})
            .first->second;
    by_query_[pod.query] = uid;
    if (closing_) {
      pod.machine.stop(Duration::zero(), options_.clock->now());
    }
    if (prepared.ok()) {
      warn_of_isolation(pod);
      mount_memory(spec, pod.directory);
      pod.tokens_due = pod.directory.tokens_due(spec);
    } else {
      log::warn("cannot prepare a pod", {{"pod", pod.query}, {"error", prepared.error().message}});
      pod.machine.fail(prepared.error().message, options_.clock->now());
    }
    advance(uid, pod);
  }
  wake();
}

void SpawnedRuntime::extend(const Value& spec) {
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(spec["uid"].str());
    if (found == pods_.end()) {
      return;
    }
    for (const Value& container : spec["ephemeral"].items()) {
      found->second.machine.add_ephemeral(container);
    }
    advance(found->first, found->second);
  }
  wake();
}

void SpawnedRuntime::stop(const std::string& uid, Duration grace) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = pods_.find(uid); found != pods_.end()) {
      found->second.machine.stop(grace, options_.clock->now());
      advance(uid, found->second);
    }
  }
  wake();
}

void SpawnedRuntime::update(const Value& change) {
  const std::string uid = change["uid"].str();
  std::optional<PodDirectory> directory;
  Value spec;
  const MutexLock writing(writing_);
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(uid);
    if (found == pods_.end()) {
      return;
    }
    if (change.contains("resources")) {
      found->second.machine.resize(change, options_.clock->now());
      limit_groups(found->second);
      advance(uid, found->second);
      wake();
      return;
    }
    found->second.machine.update_volumes(change["volumes"], change["digest"]);
    directory = found->second.directory;
    spec = found->second.machine.spec();
  }
  if (const auto written = directory->update(spec, options_.tokens, options_.clock->now());
      !written.ok()) {
    log::warn("cannot update the volumes of a pod",
              {{"pod", spec["name"].str()}, {"error", written.error().message}});
  }
  {
    const MutexLock lock(mutex_);
    if (const auto found = pods_.find(uid); found != pods_.end()) {
      report(found->second);
    }
  }
  wake();
}

void SpawnedRuntime::events_written(const std::string& uid, std::int64_t last) {
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(uid);
    if (found == pods_.end()) {
      return;
    }
    found->second.machine.events_written(last);
    report(found->second);
  }
  wake();
}

void SpawnedRuntime::forget(const std::string& uid) {
  std::optional<PodDirectory> directory;
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(uid);
    if (found == pods_.end() || !found->second.machine.over()) {
      return;
    }
    const std::string query = found->second.query;
    directory = std::move(found->second.directory);
    if (found->second.due) {
      deadlines_.erase({*found->second.due, uid});
    }
    pods_.erase(found);
    if (by_query_[query] == uid) {
      by_query_.erase(query);
      notices_.emplace_back(query, nothing());
    }
    logs_.end_pod(uid);
  }
  directory->remove();
  wake();
}

Value SpawnedRuntime::state(std::string_view query) const {
  const MutexLock lock(mutex_);
  const auto found = by_query_.find(query);
  return found == by_query_.end() ? nothing() : pods_.at(found->second).machine.state();
}

void SpawnedRuntime::keep_only(const std::vector<std::string>& uids) {
  const std::set<std::string> kept(uids.begin(), uids.end());
  const std::string pods = options_.folder + "/pods";
  for (const std::string& uid : names_in_folder(pods)) {
    if (!kept.contains(uid)) {
      remove_folder(fmt::format("{}/{}", pods, uid));
    }
  }
}

std::map<std::string, std::map<std::string, ContainerUsage>> SpawnedRuntime::usage() const {
  std::map<int, std::pair<std::string, std::string>> names;  // by first process
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, place] : processes_) {
      if (const auto pid = pids_.find(id); pid != pids_.end()) {
        const PodMachine& machine = pods_.at(place.first).machine;
        names[pid->second] = {place.first, machine.container(place.second)["name"].str()};
      }
    }
  }
  std::vector<int> pids;
  pids.reserve(names.size());
  for (const auto& [pid, name] : names) {
    pids.push_back(pid);
  }
  std::map<std::string, std::map<std::string, ContainerUsage>> result;
  for (const auto& [pid, used] : usage_of(pids)) {
    result[names[pid].first][names[pid].second] = used;
  }
  return result;
}

void SpawnedRuntime::shut_down(Duration grace) {
  MutexLock lock(mutex_);
  closing_ = true;
  for (auto& [uid, pod] : pods_) {
    pod.machine.stop(grace, options_.clock->now());
    advance(uid, pod);
  }
  wake();
  constexpr auto kReapTime = std::chrono::seconds(1);
  idle_.wait_for(lock, grace + kReapTime,
                 [this]() ATHANOR_REQUIRES(mutex_) { return processes_.empty(); });
  lock.unlock();
  end_keeper();  // it asks the API server, which is the next to stop
}

void SpawnedRuntime::end_keeper() {
  {
    const MutexLock lock(mutex_);
    keeps_ = false;
    stopping_.notify_all();
  }
  if (thread_->keeper.joinable()) {
    thread_->keeper.join();
  }
}

Value SpawnedRuntime::nothing() {
  return Value::object({{"uid", ""}, {"init", Value::list()}, {"containers", Value::list()}});
}

void SpawnedRuntime::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
}

Result<std::unique_ptr<ProcessRuntime>> ProcessRuntime::create(Spawner spawner,
                                                               ProcessRuntimeOptions options) {
  // Mounts and working directories are made elsewhere: the path must not depend on where we are.
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  const std::filesystem::path folder = std::filesystem::canonical(options.folder, error);
  if (error) {
    return Error::internal(fmt::format("cannot use {}: {}", options.folder, error.message()));
  }
  options.folder = folder.string();
  return std::unique_ptr<ProcessRuntime>(
      std::make_unique<SpawnedRuntime>(std::move(spawner), std::move(options)));
}

}  // namespace athanor::nodes
