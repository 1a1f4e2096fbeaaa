// SPDX-License-Identifier: Apache-2.0
// EngineHost: the controllers thread, the same in every world with threads: an inbox, the engine
// and its timer, and what wakes them. A driver brings the way to its API server (World).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "base/unique_function.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/executors.hpp"

namespace athanor::runtime {

// Records, on the controllers thread (record.hpp).
class EngineJournal {
 public:
  virtual ~EngineJournal() = default;
  // Records an input before the engine takes it.
  virtual void input(const Engine& engine, const Input& input, Instant now) = 0;
  // Records a run's effects after the run.
  virtual void ran(std::span<const Effect> effects, Instant now) = 0;
};

// Services of a driver; called on the controllers thread. All but `write` and `relist` may be
// empty.
struct World {
  std::function<void(const SendWrite& send)> write{};
  std::function<void(const Relist& relist)> relist{};
  // True: the world answers this question itself, now or later.
  std::function<bool(const Probe& probe)> probe{};
  // Runs after each turn of the engine; the next one comes at the time it returns at the latest.
  std::function<std::optional<Instant>(Instant now)> more{};
};

struct HostOptions {
  const Clock* clock = nullptr;  // pointers but the journal are required; all outlive the host
  const Executors* executors = nullptr;
  World world{};
  EngineJournal* journal = nullptr;
  // A clock that never steps: where it is, steps of the other one delay and hasten nothing. Empty:
  // the clock is taken as it is.
  std::function<Duration()> steady{};
  bool running = true;  // false: inputs are taken, no key runs until run_keys(true)
};

// Makes the observation of an answer; `asked` as in Observation.
Observation answered(std::string query, Result<Value> answer, std::uint64_t asked);

// Shared with completions that outlive the driver. start() and stop() from one thread.
class EngineHost : public std::enable_shared_from_this<EngineHost> {
 public:
  using Task = UniqueFunction<void()>;

  EngineHost(std::span<const Operator* const> operators, EngineOptions engine, HostOptions options);
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;
  ~EngineHost();

  void start();
  // Returns once the thread has ended; what waits is dropped.
  void stop();
  [[nodiscard]] bool started() const { return thread_ != nullptr; }

  // Posts to the controllers thread, in the order of the calls. Thread-safe.
  void post(Task task);
  void post(Input input);
  void post(std::vector<Input> inputs);
  // Returns true if no key is ready, writing or waiting for the caches, and nothing waits.
  [[nodiscard]] bool idle() const;
  // Returns the time since the thread began its present work; zero: it waits for news.
  [[nodiscard]] Duration busy_for() const;

  // Feeds the engine an input; the keys that it makes ready run soon. Requires, like all below, the
  // controllers thread, or a time before start().
  void absorb(const Input& input);
  void run_keys(bool on);
  // Sets the role as Engine::set_role().
  void set_role(std::string_view role) { engine_.set_role(role); }
  [[nodiscard]] const Engine& engine() const { return engine_; }

 private:
  class Thread;

  void loop();
  bool wait();
  void drain();
  void follow_clock_steps();
  void run();
  void perform(const SendWrite& send);
  void perform(const Relist& relist);
  void perform(const SetTimer& set) { timer_ = set.when; }
  void perform(const Probe& probe);
  void perform(const Execute& execute);

  HostOptions options_;
  // Owned by the controllers thread once it runs.
  Engine engine_;
  std::optional<Instant> timer_{};
  std::optional<Instant> more_{};
  bool running_ = true;
  bool fresh_ = false;  // something was absorbed since the last run
  std::vector<Effect> effects_{};
  std::vector<Task> batch_{};
  std::optional<Duration> offset_{};  // of the clock to the steady one

  mutable Mutex mutex_{};  // guards the members below
  ConditionVariable news_{};
  std::vector<Task> inbox_ ATHANOR_GUARDED_BY(mutex_){};
  bool stopping_ ATHANOR_GUARDED_BY(mutex_) = false;
  bool resting_ ATHANOR_GUARDED_BY(mutex_) = false;  // the thread sleeps and the engine is idle

  std::atomic<std::chrono::steady_clock::time_point> busy_since_{};  // its epoch: it waits

  std::unique_ptr<Thread> thread_;
};

}  // namespace athanor::runtime
