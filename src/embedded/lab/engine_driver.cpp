// SPDX-License-Identifier: Apache-2.0
// The controllers thread. It sleeps until events, answers or the engine's timer come and takes all
// that is there as one batch. Its writes go to the server one after another on a thread beside it,
// as they would to a server elsewhere: the next keys are reconciled meanwhile.
#include "embedded/lab/engine_driver.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "embedded/bridge/calls.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/bridge/live_read.hpp"
#include "embedded/bridge/loops.hpp"
#include "embedded/lab/background_queue.hpp"
#include "runtime/engine.hpp"

namespace athanor::lab {

using runtime::Effect;
using runtime::Execute;
using runtime::Observation;
using runtime::Probe;
using runtime::Relist;
using runtime::SendWrite;
using runtime::SetTimer;

namespace {

Observation answered(std::string query, Result<Value> answer) {
  Observation observation{.query = std::move(query)};
  if (answer.ok()) {
    observation.value = *std::move(answer);
  } else {
    observation.error = std::move(answer).error();
  }
  return observation;
}

runtime::EngineOptions engine_options(const DriverOptions& options) {
  ATHANOR_CHECK(options.server != nullptr && options.store != nullptr && options.clock != nullptr &&
                    options.entropy != nullptr && options.executors != nullptr,
                "the driver stands on all of these");
  return {.entropy = options.entropy,
          .config = options.config,
          .metrics = options.metrics,
          .stopwatch = options.clock};
}

}  // namespace

struct EngineDriver::Impl : std::enable_shared_from_this<Impl> {
  Impl(std::span<const Operator* const> operators, DriverOptions driver_options)
      : options(std::move(driver_options)),
        engine(operators, engine_options(options)),
        feed(engine.kinds()),
        loops(*options.store, *options.server, options.runs_loop) {}

  void post(std::span<const store::EventPtr> events);
  void post(Observation observation);
  void post(UniqueFunction<void()> task);
  void loop();
  bool wait();
  void drain();
  void run_effects();
  void run_loops();
  void perform(const SendWrite& send);
  void write(const SendWrite& send);
  void take_result(const SendWrite& send, const apiserver::Response& response);
  void perform(const Probe& probe);
  void perform(const Execute& execute);
  void perform(const Relist& relist);
  void perform(const SetTimer& set) { timer = set.when; }

  DriverOptions options;
  // Of the controllers thread once it runs.
  runtime::Engine engine;
  bridge::KindFeed feed;
  bridge::Loops loops;
  std::optional<Instant> timer{};
  std::vector<Effect> effects{};
  std::vector<runtime::WatchEvent> converted{};
  std::vector<store::EventPtr> event_batch{};
  std::vector<Observation> observation_batch{};
  std::vector<UniqueFunction<void()>> task_batch{};

  mutable std::mutex mutex{};  // guards the members below
  std::condition_variable news{};
  std::vector<store::EventPtr> inbox{};
  std::vector<Observation> answers{};
  std::vector<UniqueFunction<void()>> tasks{};  // of answered writes
  bool stopping = false;
  bool resting = false;  // the thread sleeps and the engine is idle

  std::shared_ptr<void> listening{};
  std::unique_ptr<BackgroundQueue> writes{};  // while the thread runs
  std::thread thread{};
};

void EngineDriver::Impl::post(std::span<const store::EventPtr> events) {
  const std::scoped_lock lock(mutex);
  const bool was_empty = inbox.empty();
  inbox.insert(inbox.end(), events.begin(), events.end());
  if (was_empty && !inbox.empty()) {
    resting = false;
    news.notify_one();
  }
}

void EngineDriver::Impl::post(Observation observation) {
  const std::scoped_lock lock(mutex);
  answers.push_back(std::move(observation));
  resting = false;
  news.notify_one();
}

void EngineDriver::Impl::post(UniqueFunction<void()> task) {
  const std::scoped_lock lock(mutex);
  tasks.push_back(std::move(task));
  resting = false;
  news.notify_one();
}

// Sleeps until there is something to do; false: stop.
bool EngineDriver::Impl::wait() {
  const bool engine_idle = engine.idle();
  std::unique_lock lock(mutex);
  const auto has_news = [&] {
    return stopping || !inbox.empty() || !answers.empty() || !tasks.empty();
  };
  resting = engine_idle && !has_news();
  std::optional<Instant> until = timer;
  if (const auto loop = loops.next_due(); loop && (!until || *loop < *until)) {
    until = loop;
  }
  if (!until) {
    news.wait(lock, has_news);
  } else if (const Duration left = *until - options.clock->now(); left > Duration::zero()) {
    news.wait_for(lock, left, has_news);
  }
  resting = false;
  return !stopping;
}

// Moves everything from the inbox into the engine.
void EngineDriver::Impl::drain() {
  {
    const std::scoped_lock lock(mutex);
    event_batch.swap(inbox);
    observation_batch.swap(answers);
    task_batch.swap(tasks);
  }
  const Instant now = options.clock->now();
  loops.feed(event_batch);
  for (const store::EventPtr& event : event_batch) {
    converted.clear();
    feed.convert(*event, converted);
    for (runtime::WatchEvent& one : converted) {
      engine.absorb(std::move(one), now);
    }
  }
  event_batch.clear();
  for (Observation& observation : observation_batch) {
    engine.absorb(std::move(observation), now);
  }
  observation_batch.clear();
  for (UniqueFunction<void()>& task : task_batch) {
    task();
  }
  task_batch.clear();
}

void EngineDriver::Impl::loop() {
  while (wait()) {
    drain();
    if (timer && *timer <= options.clock->now()) {
      timer.reset();
      engine.absorb(runtime::Tick{}, options.clock->now());
    }
    engine.run(options.clock->now(), effects);
    run_effects();
    run_loops();
  }
}

// After the controllers, which somebody may be waiting for. What the loops write comes back through
// the inbox.
void EngineDriver::Impl::run_loops() {
  const Instant now = options.clock->now();
  if (loops.due(now)) {
    loops.run(now);
  }
}

// Carries effects out until no more follow at once: a write's result leads to the plan's next step,
// its event to the next keys. Bounded, so that stop() and the timer get their turn; the timer
// brings us back.
void EngineDriver::Impl::run_effects() {
  constexpr int kRounds = 64;
  for (int round = 0; round < kRounds && !effects.empty(); ++round) {
    std::vector<Effect> batch;
    batch.swap(effects);
    for (const Effect& effect : batch) {
      std::visit([&](const auto& one) { perform(one); }, effect);
    }
    drain();
    engine.run(options.clock->now(), effects);
  }
  if (!effects.empty()) {
    std::vector<Effect> batch;
    batch.swap(effects);
    for (const Effect& effect : batch) {
      std::visit([&](const auto& one) { perform(one); }, effect);
    }
    timer = options.clock->now();
  }
}

void EngineDriver::Impl::perform(const SendWrite& send) {
  auto task = [self = weak_from_this(), send] {
    if (const auto impl = self.lock()) {
      impl->write(send);
    }
  };
  if (send.urgent) {
    writes->add_first(std::move(task));
  } else {
    writes->add(std::move(task));
  }
}

// On the writing thread. Webhooks are not waited for: other writes go on.
void EngineDriver::Impl::write(const SendWrite& send) {
  options.server->handle_async(
      bridge::to_request(send.request), options.clock->now(),
      [self = weak_from_this()](UniqueFunction<void()> task) {
        if (const auto impl = self.lock()) {
          impl->post(std::move(task));
        }
      },
      [self = weak_from_this(), send](apiserver::Response response) {
        if (const auto impl = self.lock()) {
          impl->take_result(send, response);
        }
      });
}

void EngineDriver::Impl::take_result(const SendWrite& send, const apiserver::Response& response) {
  runtime::WriteResult result = bridge::to_result(send.id, response);
  // Lost races and objects gone meanwhile are everyday life; anything else is worth a line.
  if (result.error && result.error->code != 404 && result.error->code != 409) {
    log::warn("a controller's write was refused", {{"controller", send.op},
                                                   {"path", bridge::to_request(send.request).path},
                                                   {"code", result.error->code},
                                                   {"error", result.error->message}});
  }
  post([this, result = std::move(result)]() mutable {
    engine.absorb(std::move(result), options.clock->now());
  });
}

void EngineDriver::Impl::perform(const Probe& probe) {
  if (bridge::is_live_read(probe.query)) {
    engine.absorb(answered(probe.query, bridge::answer_live(*options.store, probe.query)),
                  options.clock->now());
    return;
  }
  const runtime::Executors::Probe* ask = options.executors->probe(probe.query);
  if (ask == nullptr) {
    Observation none = answered(probe.query, Error::not_found("nobody answers " + probe.query));
    none.asked = probe.id;
    engine.absorb(std::move(none), options.clock->now());
    return;
  }
  (*ask)(probe.query,
         [self = weak_from_this(), query = probe.query, id = probe.id](Result<Value> answer) {
           if (const auto impl = self.lock()) {
             Observation observation = answered(query, std::move(answer));
             observation.asked = id;
             impl->post(std::move(observation));
           }
         });
}

void EngineDriver::Impl::perform(const Execute& execute) {
  std::string query = execute.verb + ":" + execute.id;
  const runtime::Executors::Act* run = options.executors->act(execute.verb);
  if (run == nullptr) {
    log::error("no executor for a verb", {{"verb", execute.verb}, {"id", execute.id}});
    engine.absorb(answered(query, Error::not_found("no executor for " + execute.verb)),
                  options.clock->now());
    return;
  }
  (*run)(execute.id, execute.args,
         [self = weak_from_this(), query = std::move(query)](Result<Value> answer) {
           if (const auto impl = self.lock()) {
             impl->post(answered(query, std::move(answer)));
           }
         });
}

void EngineDriver::Impl::perform(const Relist& relist) {
  auto listed = feed.list(*options.store, *relist.kind);
  if (!listed.ok()) {
    log::warn("cannot list a kind",
              {{"kind", relist.kind->name}, {"error", listed.error().message}});
    return;
  }
  engine.absorb(*std::move(listed), options.clock->now());
}

EngineDriver::EngineDriver(std::span<const Operator* const> operators, DriverOptions options)
    : impl_(std::make_shared<Impl>(operators, std::move(options))) {}

EngineDriver::~EngineDriver() {
  stop();
}

Result<void> EngineDriver::start() {
  Impl& impl = *impl_;
  ATHANOR_CHECK(!impl.thread.joinable(), "a driver starts once");
  // Listen first: what happens while we list comes twice rather than never.
  impl.listening = impl.options.store->listen(
      [raw = impl_.get()](std::span<const store::EventPtr> events) { raw->post(events); });
  const Instant now = impl.options.clock->now();
  for (const Kind* kind : impl.engine.kinds()) {
    auto listed = impl.feed.list(*impl.options.store, *kind);
    if (!listed.ok()) {
      impl.listening.reset();
      return listed.error().with_context("listing " + std::string(kind->plural));
    }
    impl.engine.absorb(*std::move(listed), now);
  }
  impl.timer = now;
  impl.writes = std::make_unique<BackgroundQueue>();
  impl.thread = std::thread([raw = impl_.get()] { raw->loop(); });
  return {};
}

void EngineDriver::stop() {
  Impl& impl = *impl_;
  impl.listening.reset();
  {
    const std::scoped_lock lock(impl.mutex);
    impl.stopping = true;
    impl.news.notify_one();
  }
  if (impl.thread.joinable()) {
    impl.thread.join();
  }
  impl.writes.reset();
}

void EngineDriver::observe(std::string query, Result<Value> answer) {
  impl_->post(answered(std::move(query), std::move(answer)));
}

bool EngineDriver::idle() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->resting && impl_->inbox.empty() && impl_->answers.empty() && impl_->tasks.empty();
}

}  // namespace athanor::lab
