// SPDX-License-Identifier: Apache-2.0
// A thread that wakes when the next pod is due.
#include "embedded/nodes/timed/timed_runtime.hpp"

#include <condition_variable>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "embedded/nodes/timed/timed_pods.hpp"

namespace athanor::nodes {
namespace {

class TimedRuntime final : public PodRuntime {
 public:
  explicit TimedRuntime(const Clock& clock) : clock_(clock) {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  TimedRuntime(const TimedRuntime&) = delete;
  TimedRuntime& operator=(const TimedRuntime&) = delete;
  ~TimedRuntime() override {
    thread_.request_stop();
    thread_.join();
  }

  void listen(Listener listener) override {
    const MutexLock telling(telling_);
    listener_ = std::move(listener);
  }
  void start(const Value& spec) override {
    change([&]() ATHANOR_REQUIRES(mutex_) { pods_.start(spec, clock_.now()); });
  }
  void extend(const Value& spec) override {
    change([&]() ATHANOR_REQUIRES(mutex_) { pods_.extend(spec, clock_.now()); });
  }
  void stop(const std::string& uid, Duration grace) override {
    change([&]() ATHANOR_REQUIRES(mutex_) { pods_.stop(uid, grace, clock_.now()); });
  }
  void update(const Value& change) override {
    this->change([&]() ATHANOR_REQUIRES(mutex_) { pods_.update(change, clock_.now()); });
  }
  void events_written(const std::string& uid, std::int64_t last) override {
    change([&]() ATHANOR_REQUIRES(mutex_) { pods_.events_written(uid, last); });
  }
  void forget(const std::string& uid) override {
    change([&]() ATHANOR_REQUIRES(mutex_) { pods_.forget(uid); });
  }
  [[nodiscard]] Value state(std::string_view query) const override {
    const MutexLock lock(mutex_);
    return pods_.state(query);
  }

 private:
  template <class Change>
  void change(Change edit) {
    {
      const MutexLock lock(mutex_);
      edit();
      changed_ = true;
    }
    due_.notify_all();
  }

  void loop(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_ = false;
      const TimedPods::Notices notices = pods_.advance(clock_.now());
      lock.unlock();
      publish(notices);
      lock.lock();
      const auto woken = [this]() ATHANOR_REQUIRES(mutex_) { return changed_; };
      if (const auto next = pods_.next_due()) {
        due_.wait_for(lock, stop, *next - clock_.now(), woken);
      } else {
        due_.wait(lock, stop, woken);
      }
    }
  }

  void publish(const TimedPods::Notices& notices) {
    const MutexLock telling(telling_);
    if (listener_) {
      for (const auto& [query, state] : notices) {
        listener_(query, state);
      }
    }
  }

  const Clock& clock_;
  Mutex telling_{};  // never taken with mutex_
  Listener listener_ ATHANOR_GUARDED_BY(telling_){};
  mutable Mutex mutex_{};
  std::condition_variable_any due_{};
  TimedPods pods_ ATHANOR_GUARDED_BY(mutex_){};
  bool changed_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::jthread thread_{};
};

}  // namespace

std::unique_ptr<PodRuntime> timed_runtime(const Clock& clock) {
  return std::make_unique<TimedRuntime>(clock);
}

}  // namespace athanor::nodes
