// SPDX-License-Identifier: Apache-2.0
// The loop: take all that is there as one batch, let keys run, carry effects out, sleep.
#include "runtime/engine/engine_host.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace athanor::runtime {

namespace {

// How far the clock may drift from the steady one before that is a step.
constexpr Duration kStep = std::chrono::milliseconds(500);
// After work beside the engine that failed.
constexpr Duration kAgain = std::chrono::seconds(1);
// The longest sleep while a timer runs: a step is found at the latest then.
constexpr Duration kLook = std::chrono::seconds(5);

}  // namespace

class EngineHost::Thread {
 public:
  explicit Thread(std::function<void()> body) : thread_(std::move(body)) {}
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  std::thread thread_;
};

Observation answered(std::string query, Result<Value> answer, std::uint64_t asked) {
  Observation observation{.query = std::move(query), .asked = asked};
  if (answer.ok()) {
    observation.value = *std::move(answer);
  } else {
    observation.error = std::move(answer).error();
  }
  return observation;
}

EngineHost::EngineHost(std::span<const Operator* const> operators, EngineOptions engine,
                       HostOptions options)
    : options_(std::move(options)),
      engine_(operators, std::move(engine)),
      running_(options_.running) {
  ATHANOR_CHECK(options_.clock != nullptr && options_.executors != nullptr &&
                    options_.world.write && options_.world.relist,
                "the host stands on all of these");
}

EngineHost::~EngineHost() = default;

void EngineHost::start() {
  ATHANOR_CHECK(thread_ == nullptr, "a driver starts once");
  timer_ = options_.clock->now();
  more_ = options_.world.more ? timer_ : std::nullopt;
  thread_ = std::make_unique<Thread>([this] { loop(); });
}

void EngineHost::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    news_.notify_one();
  }
  if (thread_ != nullptr) {
    thread_->join();
  }
}

void EngineHost::post(Task task) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    first = inbox_.empty();
    inbox_.push_back(std::move(task));
    resting_ = false;
  }
  if (first) {  // what lies there already has woken the thread
    news_.notify_one();
  }
}

void EngineHost::post(Input input) {
  post(Task([this, input = std::move(input)] { absorb(input); }));
}

void EngineHost::post(std::vector<Input> inputs) {
  post(Task([this, inputs = std::move(inputs)] {
    for (const Input& input : inputs) {
      absorb(input);
    }
  }));
}

bool EngineHost::idle() const {
  const MutexLock lock(mutex_);
  return resting_ && inbox_.empty();
}

Duration EngineHost::busy_for() const {
  const auto since = busy_since_.load();
  return since == std::chrono::steady_clock::time_point()
             ? Duration::zero()
             : std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - since);
}

void EngineHost::absorb(const Input& input) {
  const Instant now = options_.clock->now();
  if (options_.journal != nullptr) {
    static_cast<void>(contain([&] { options_.journal->input(engine_, input, now); }));
  }
  engine_.absorb(input, now);
  fresh_ = true;
}

void EngineHost::run_keys(bool on) {
  running_ = on;
  timer_ = options_.clock->now();
}

void EngineHost::loop() {
  while (wait()) {
    busy_since_ = std::chrono::steady_clock::now();
    drain();
    follow_clock_steps();
    if (running_) {
      run();
    }
    if (options_.world.more) {
      const auto broken = contain([&] { more_ = options_.world.more(options_.clock->now()); });
      if (broken) {
        more_ = options_.clock->now() + kAgain;
      }
    }
    busy_since_ = std::chrono::steady_clock::time_point();
  }
}

// Sleeps until there is something to do; false: stop.
bool EngineHost::wait() {
  const bool engine_idle = engine_.idle();
  MutexLock lock(mutex_);
  const auto has_news = [&]() ATHANOR_REQUIRES(mutex_) { return stopping_ || !inbox_.empty(); };
  if (fresh_ && running_) {
    return !stopping_;
  }
  resting_ = engine_idle && !has_news();
  std::optional<Instant> until = running_ ? timer_ : std::nullopt;
  if (more_ && (!until || *more_ < *until)) {
    until = more_;
  }
  if (!until) {
    news_.wait(lock, has_news);
  } else if (const Duration left = *until - options_.clock->now(); left > Duration::zero()) {
    news_.wait_for(lock, options_.steady ? std::min(left, kLook) : left, has_news);
  }
  resting_ = false;
  return !stopping_;
}

void EngineHost::drain() {
  {
    const MutexLock lock(mutex_);
    batch_.swap(inbox_);
  }
  for (Task& task : batch_) {
    // Inputs are contained by the engine; what else was posted costs itself alone.
    static_cast<void>(contain(task));
  }
  batch_.clear();
}

void EngineHost::follow_clock_steps() {
  if (!options_.steady) {
    return;
  }
  const Duration offset = options_.clock->now().time_since_epoch() - options_.steady();
  const Duration by = offset - offset_.value_or(offset);
  if (!offset_ || by > kStep || by < -kStep) {
    offset_ = offset;
  }
  if (by > kStep || by < -kStep) {
    log::warn("the clock has stepped", {{"by", format_go_duration(by)}});
    absorb(ClockStep{.by = by});
  }
}

void EngineHost::run() {
  const Instant now = options_.clock->now();
  if (timer_ && *timer_ <= now) {
    timer_.reset();
    absorb(Tick{});
  }
  fresh_ = false;
  engine_.run(now, effects_);
  std::vector<Effect> effects;
  effects.swap(effects_);
  if (options_.journal != nullptr) {
    static_cast<void>(contain([&] { options_.journal->ran(effects, now); }));
  }
  for (const Effect& effect : effects) {
    std::visit([&](const auto& one) { perform(one); }, effect);
  }
}

void EngineHost::perform(const SendWrite& send) {
  if (const auto broken = contain([&] { options_.world.write(send); })) {
    absorb(WriteResult{.id = send.id, .error = Error::internal(*broken)});
  }
}

void EngineHost::perform(const Relist& relist) {
  static_cast<void>(contain([&] { options_.world.relist(relist); }));
}

void EngineHost::perform(const Probe& probe) {
  bool answers = false;
  if (const auto broken =
          contain([&] { answers = options_.world.probe && options_.world.probe(probe); })) {
    absorb(answered(probe.query, Error::internal(*broken), probe.id));
    return;
  }
  if (answers) {
    return;
  }
  const Executors::Probe* ask = options_.executors->probe(probe.query);
  if (ask == nullptr) {
    absorb(answered(probe.query, Error::not_found("no probe answers " + probe.query), probe.id));
    return;
  }
  const auto broken = contain([&] {
    (*ask)(probe.query,
           [weak = weak_from_this(), query = probe.query, id = probe.id](Result<Value> answer) {
             if (const auto self = weak.lock()) {
               self->post(Input(answered(query, std::move(answer), id)));
             }
           });
  });
  if (broken) {
    absorb(answered(probe.query, Error::internal(*broken), probe.id));
  }
}

void EngineHost::perform(const Execute& execute) {
  const std::string query = execute.verb + ":" + execute.id;
  const Executors::Act* act = options_.executors->act(execute.verb);
  if (act == nullptr) {
    log::error("no executor for a verb", {{"verb", execute.verb}, {"id", execute.id}});
    absorb(answered(query, Error::not_found("no executor for " + execute.verb), 0));
    return;
  }
  const auto broken = contain([&] {
    (*act)(execute.id, execute.args, [weak = weak_from_this(), query](Result<Value> answer) {
      if (const auto self = weak.lock()) {
        self->post(Input(answered(query, std::move(answer), 0)));
      }
    });
  });
  if (broken) {
    absorb(answered(query, Error::internal(*broken), 0));
  }
}

}  // namespace athanor::runtime
