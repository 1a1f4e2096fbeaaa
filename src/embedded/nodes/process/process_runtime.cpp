// SPDX-License-Identifier: Apache-2.0
// Pods on the spawner: one thread reads what it reports and keeps the pods' deadlines.
#include "embedded/nodes/process/process_runtime.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/log_stream.hpp"
#include "embedded/nodes/process/pod_machine.hpp"

namespace athanor::nodes {
namespace {

using Notices = std::vector<std::pair<std::string, Value>>;  // query and state

struct Pod {
  PodMachine machine;
  PodDirectory directory;
  std::string query{};
  std::map<std::size_t, std::int64_t> processes{};  // running container to process id
};

class SpawnedRuntime final : public ProcessRuntime {
 public:
  SpawnedRuntime(Spawner spawner, ProcessRuntimeOptions options)
      : spawner_(std::move(spawner)),
        options_(std::move(options)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  SpawnedRuntime(const SpawnedRuntime&) = delete;
  SpawnedRuntime& operator=(const SpawnedRuntime&) = delete;
  ~SpawnedRuntime() override {
    thread_.request_stop();
    wake();
    thread_.join();
    ::close(wake_);
  }

  void listen(Listener listener) override {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }

  void start(const Value& spec) override {
    Notices notices;
    {
      const std::lock_guard lock(mutex_);
      const std::string uid = spec["uid"].str();
      if (pods_.contains(uid)) {
        return;
      }
      Pod pod{.machine = PodMachine(spec),
              .directory = PodDirectory(options_.folder, spec),
              .query = pod_query(spec["ns"].as_string(), spec["name"].as_string())};
      // A pod of before a restart may have left files: its containers start afresh.
      pod.directory.remove();
      const auto prepared = pod.directory.prepare(spec, options_.tokens);
      Pod& placed = pods_.emplace(uid, std::move(pod)).first->second;
      by_query_[placed.query] = uid;
      if (prepared.ok()) {
        advance(placed, notices);
      } else {
        fail_all(placed, prepared.error().message, notices);
      }
    }
    publish(notices);
    wake();
  }

  void stop(const std::string& uid, Duration grace) override {
    Notices notices;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = pods_.find(uid); found != pods_.end()) {
        found->second.machine.stop(grace, options_.clock->now());
        advance(found->second, notices);
      }
    }
    publish(notices);
    wake();
  }

  void forget(const std::string& uid) override {
    Notices notices;
    {
      const std::lock_guard lock(mutex_);
      const auto found = pods_.find(uid);
      if (found == pods_.end() || !found->second.machine.over()) {
        return;
      }
      const std::string query = found->second.query;
      found->second.directory.remove();
      pods_.erase(found);
      if (by_query_[query] == uid) {
        by_query_.erase(query);
        notices.emplace_back(query, nothing());
      }
      logs_.end_pod(uid);
    }
    publish(notices);
  }

  [[nodiscard]] Value state(std::string_view query) const override {
    const std::lock_guard lock(mutex_);
    const auto found = by_query_.find(std::string(query));
    return found == by_query_.end() ? nothing() : pods_.at(found->second).machine.state();
  }

  Result<std::unique_ptr<apiserver::Stream>> open(const Key& pod, std::string_view uid,
                                                  const apiserver::LogOptions& options) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(std::string(uid));
    if (found == pods_.end()) {
      return Error::not_found(fmt::format("pod {} has no logs on its node", pod.text()));
    }
    const PodMachine& machine = found->second.machine;
    bool running = false;
    for (std::size_t i = 0; i < machine.size(); ++i) {
      running = running ||
                (machine.container(i)["name"].as_string() == options.container && !machine.over());
    }
    return logs_.open(found->second.directory.log_path(options.container), std::string(uid),
                      options, running);
  }

  void shut_down(Duration grace) override {
    Notices notices;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [uid, pod] : pods_) {
        pod.machine.stop(grace, options_.clock->now());
        advance(pod, notices);
      }
    }
    wake();
    std::unique_lock lock(mutex_);
    constexpr auto kReapTime = std::chrono::seconds(1);
    idle_.wait_for(lock, grace + kReapTime, [this] { return processes_.empty(); });
  }

 private:
  static Value nothing() {
    return Value::object({{"uid", ""}, {"init", Value::list()}, {"containers", Value::list()}});
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one));
  }

  void publish(const Notices& notices) {
    Listener listener;
    {
      const std::lock_guard lock(mutex_);
      listener = listener_;
    }
    if (listener) {
      for (const auto& [query, state] : notices) {
        listener(query, state);
      }
    }
  }

  // Carries out what the pod's machine wants. With the lock held.
  void advance(Pod& pod, Notices& notices) {
    const Instant now = options_.clock->now();
    std::vector<Order> orders;
    pod.machine.advance(now, orders);
    bool again = false;
    for (const Order& order : orders) {
      again = !carry_out(pod, order) || again;
    }
    if (again) {
      advance(pod, notices);  // a container that could not start changes what comes next
      return;
    }
    notices.emplace_back(pod.query, pod.machine.state());
  }

  bool carry_out(Pod& pod, const Order& order) {
    if (order.type != Order::Type::Run) {
      const auto process = pod.processes.find(order.container);
      if (process != pod.processes.end()) {
        send_frame(
            spawner_.socket(),
            Value::object({{"op", "signal"},
                           {"id", process->second},
                           {"signal", order.type == Order::Type::Kill ? SIGKILL : SIGTERM}}));
      }
      return true;
    }
    const Value& container = pod.machine.container(order.container);
    pod.directory.rotate_log(container["name"].as_string());
    const std::int64_t id = ++last_process_;
    const auto run = pod.directory.run_order(pod.machine.spec(), container, id);
    if (!run.ok() || !send_frame(spawner_.socket(), *run)) {
      constexpr int kCannotStart = 128;
      pod.machine.exited(order.container, kCannotStart,
                         run.ok() ? "the spawner is gone" : run.error().message,
                         options_.clock->now());
      return false;
    }
    pod.processes[order.container] = id;
    processes_[id] = {pod.machine.spec()["uid"].str(), order.container};
    return true;
  }

  void fail_all(Pod& pod, const std::string& message, Notices& notices) {
    log::warn("cannot prepare a pod", {{"pod", pod.query}, {"error", message}});
    constexpr int kCannotStart = 128;
    for (std::size_t i = 0; i < pod.machine.size(); ++i) {
      pod.machine.exited(i, kCannotStart, message, options_.clock->now());
    }
    notices.emplace_back(pod.query, pod.machine.state());
  }

  void loop(const std::stop_token& stop) {
    FrameReader reader;
    while (!stop.stop_requested()) {
      pollfd polled[] = {{spawner_.socket(), POLLIN, 0}, {wake_, POLLIN, 0}};
      ::poll(polled, 2, poll_timeout());
      std::uint64_t count = 0;
      static_cast<void>(::read(wake_, &count, sizeof count));
      Notices notices;
      if (polled[0].revents != 0) {
        if (!reader.fill(spawner_.socket())) {
          log::error("the spawner of pod processes ended unexpectedly; pods cannot run any more");
          return;
        }
        while (const auto event = reader.next()) {
          take(*event, notices);
        }
      }
      {
        const std::lock_guard lock(mutex_);
        const Instant now = options_.clock->now();
        for (auto& [uid, pod] : pods_) {
          if (const auto due = pod.machine.next_due(); due && *due <= now) {
            advance(pod, notices);
          }
        }
      }
      publish(notices);
    }
  }

  [[nodiscard]] int poll_timeout() const {
    const std::lock_guard lock(mutex_);
    constexpr std::int64_t kLongest = 60'000;
    std::int64_t timeout = kLongest;
    const Instant now = options_.clock->now();
    for (const auto& [uid, pod] : pods_) {
      if (const auto due = pod.machine.next_due()) {
        timeout = std::min(timeout, std::max<std::int64_t>(0, (*due - now).count() / 1000 + 1));
      }
    }
    return static_cast<int>(timeout);
  }

  void take(const Value& event, Notices& notices) {
    const std::lock_guard lock(mutex_);
    const auto process = processes_.find(event["id"].as_int());
    if (process == processes_.end()) {
      return;
    }
    const auto [uid, index] = process->second;
    Pod& pod = pods_.at(uid);
    const std::string_view kind = event["event"].as_string();
    if (kind == "log") {
      logs_.grew(uid, pod.machine.container(index)["name"].as_string());
    } else if (kind == "exited") {
      processes_.erase(process);
      pod.processes.erase(index);
      end_of(pod, index, static_cast<int>(event["code"].as_int()));
      advance(pod, notices);
      logs_.grew(uid, pod.machine.container(index)["name"].as_string());
      if (!pod.machine.running(index)) {
        logs_.end_container(uid, pod.machine.container(index)["name"].as_string());
      }
      idle_.notify_all();
    }
  }

  static void end_of(Pod& pod, std::size_t index, int code) {
    const Value& container = pod.machine.container(index);
    std::string message;
    if (pod.machine.spec()["sequential"].as_bool()) {
      pod.directory.write_exit_code(container, code);
      auto results = pod.directory.read_results(container);
      if (results.ok()) {
        message = *std::move(results);
      } else {
        code = 1;
        message = results.error().message;
      }
    }
    pod.machine.exited(index, code, std::move(message), wall_clock()->now());
  }

  Spawner spawner_;
  ProcessRuntimeOptions options_;
  int wake_;
  mutable std::mutex mutex_{};
  std::condition_variable idle_{};
  Listener listener_{};                            // mutex_
  std::map<std::string, Pod> pods_{};              // mutex_; by uid
  std::map<std::string, std::string> by_query_{};  // mutex_; query to the newest uid
  std::map<std::int64_t, std::pair<std::string, std::size_t>>
      processes_{};                // mutex_; process to uid and container
  std::int64_t last_process_ = 0;  // mutex_
  LogStreams logs_{};              // mutex_ (its streams have their own)
  std::jthread thread_{};
};

}  // namespace

Result<std::unique_ptr<ProcessRuntime>> ProcessRuntime::create(Spawner spawner,
                                                               ProcessRuntimeOptions options) {
  return std::unique_ptr<ProcessRuntime>(
      std::make_unique<SpawnedRuntime>(std::move(spawner), std::move(options)));
}

}  // namespace athanor::nodes
