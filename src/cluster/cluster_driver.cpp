// SPDX-License-Identifier: Apache-2.0
// The controllers thread. It sleeps until events, answers or the engine's timer come and takes all
// that is there as one batch. Requests leave through the client, which nobody waits for: writes of
// different keys are under way at the same time.
#include "cluster/cluster_driver.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/unique_function.hpp"
#include "cluster/write_call.hpp"
#include "runtime/engine.hpp"
#include "runtime/view/live.hpp"

namespace athanor::cluster {

using runtime::Effect;
using runtime::Execute;
using runtime::Observation;
using runtime::Probe;
using runtime::Relist;
using runtime::SendWrite;
using runtime::SetTimer;

namespace {

Observation answered(std::string query, Result<Value> answer, std::uint64_t asked) {
  Observation observation{.query = std::move(query), .asked = asked};
  if (answer.ok()) {
    observation.value = *std::move(answer);
  } else {
    observation.error = std::move(answer).error();
  }
  return observation;
}

runtime::EngineOptions engine_options(const DriverOptions& options) {
  ATHANOR_CHECK(options.client != nullptr && options.clock != nullptr &&
                    options.entropy != nullptr && options.executors != nullptr,
                "the driver stands on all of these");
  return {.entropy = options.entropy,
          .config = options.config,
          .namespaces = options.namespaces,
          .metrics = options.metrics,
          .stopwatch = options.clock,
          .tracer = options.tracer};
}

}  // namespace

struct ClusterDriver::Impl : std::enable_shared_from_this<Impl> {
  using Task = UniqueFunction<void()>;
  // What one controller wants to write.
  struct Lane {
    std::size_t in_flight = 0;
    std::deque<SendWrite> waiting{};
  };
  // One feed a namespace; kinds without namespaces belong to the first.
  struct Source {
    std::string ns{};
    std::unique_ptr<client::Feed> feed{};
  };

  Impl(std::span<const Operator* const> operators, DriverOptions driver_options)
      : options(std::move(driver_options)), engine(operators, engine_options(options)) {}

  void make_feeds();
  void post_items(std::vector<client::FeedItem> batch, const std::string& ns);
  void post(Task task);
  void post_input(runtime::Input input);
  void loop();
  bool wait();
  void drain_inbox();
  void run_engine();
  void perform_all();
  void perform(const SendWrite& send);
  void send_waiting(Lane& lane);
  bool transmit(const SendWrite& send);
  void take_result(const SendWrite& send, client::ApiResult result);
  void perform(const Probe& probe);
  void perform(const Execute& execute);
  void perform(const Relist& relist);
  void perform(const SetTimer& set) { timer = set.when; }
  [[nodiscard]] Value debug(std::size_t limit) const;

  DriverOptions options;
  // Of the controllers thread once it runs.
  runtime::Engine engine;
  std::optional<Instant> timer{};
  std::vector<Effect> effects{};
  std::map<std::string, Lane, std::less<>> lanes{};  // by controller
  std::size_t in_flight = 0;
  bool leading = false;
  bool draining = false;
  std::vector<runtime::Input> input_batch{};
  std::vector<Task> task_batch{};

  mutable std::mutex mutex{};  // guards the members below
  std::condition_variable news{};
  std::vector<runtime::Input> inbox{};
  std::vector<Task> tasks{};
  bool stopping = false;
  bool resting = false;  // the thread sleeps and the engine is idle

  std::vector<Source> sources{};  // made before the thread
  std::thread thread{};
};

void ClusterDriver::Impl::make_feeds() {
  std::vector<std::string> namespaces = options.namespaces;
  if (namespaces.empty()) {
    namespaces.emplace_back();
  }
  bool first = true;
  for (const std::string& ns : namespaces) {
    std::vector<client::FeedScope> scopes;
    for (const Kind* kind : engine.kinds()) {
      if (!kind->namespaced && !first) {
        continue;
      }
      client::FeedScope scope{.kind = kind, .ns = kind->namespaced ? ns : std::string()};
      if (options.narrow) {
        options.narrow(scope);
      }
      scopes.push_back(std::move(scope));
    }
    first = false;
    auto feed = std::make_unique<client::Feed>(
        options.client, std::move(scopes),
        [weak = weak_from_this(), ns](std::vector<client::FeedItem> batch) {
          if (const auto self = weak.lock()) {
            self->post_items(std::move(batch), ns);
          }
        },
        *options.clock, *options.entropy, options.feed);
    sources.push_back({.ns = ns, .feed = std::move(feed)});
  }
}

void ClusterDriver::Impl::post_items(std::vector<client::FeedItem> batch, const std::string& ns) {
  for (const client::FeedItem& item : batch) {
    // Told once, when it begins: controllers go on without the kind.
    if (const auto* list = std::get_if<client::KindList>(&item); list != nullptr && list->error) {
      log::warn("a kind cannot be read", {{"kind", list->kind->name},
                                          {"namespace", ns},
                                          {"code", list->error->code},
                                          {"error", list->error->message}});
    }
  }
  const std::scoped_lock lock(mutex);
  for (client::FeedItem& item : batch) {
    inbox.push_back(to_input(std::move(item), ns));
  }
  resting = false;
  news.notify_one();
}

void ClusterDriver::Impl::post(Task task) {
  const std::scoped_lock lock(mutex);
  tasks.push_back(std::move(task));
  resting = false;
  news.notify_one();
}

void ClusterDriver::Impl::post_input(runtime::Input input) {
  const std::scoped_lock lock(mutex);
  inbox.push_back(std::move(input));
  resting = false;
  news.notify_one();
}

// Sleeps until there is something to do; false: stop.
bool ClusterDriver::Impl::wait() {
  const bool engine_idle = engine.idle();
  std::unique_lock lock(mutex);
  const auto has_news = [&] { return stopping || !inbox.empty() || !tasks.empty(); };
  resting = engine_idle && !has_news();
  if (!timer || !leading || draining) {
    news.wait(lock, has_news);
  } else if (const Duration left = *timer - options.clock->now(); left > Duration::zero()) {
    news.wait_for(lock, left, has_news);
  }
  resting = false;
  return !stopping;
}

void ClusterDriver::Impl::drain_inbox() {
  {
    const std::scoped_lock lock(mutex);
    input_batch.swap(inbox);
    task_batch.swap(tasks);
  }
  const Instant now = options.clock->now();
  for (const runtime::Input& input : input_batch) {
    engine.absorb(input, now);
  }
  input_batch.clear();
  for (Task& task : task_batch) {
    task();
  }
  task_batch.clear();
}

void ClusterDriver::Impl::loop() {
  while (wait()) {
    drain_inbox();
    if (leading && !draining) {
      run_engine();
    }
  }
}

void ClusterDriver::Impl::run_engine() {
  const Instant now = options.clock->now();
  if (timer && *timer <= now) {
    timer.reset();
    engine.absorb(runtime::Tick{}, now);
  }
  engine.run(now, effects);
  perform_all();
}

void ClusterDriver::Impl::perform_all() {
  std::vector<Effect> batch;
  batch.swap(effects);
  for (const Effect& effect : batch) {
    std::visit([&](const auto& one) { perform(one); }, effect);
  }
}

void ClusterDriver::Impl::perform(const SendWrite& send) {
  Lane& lane = lanes[std::string(send.op)];
  if (send.urgent) {
    lane.waiting.push_front(send);
  } else {
    lane.waiting.push_back(send);
  }
  send_waiting(lane);
}

void ClusterDriver::Impl::send_waiting(Lane& lane) {
  while (!draining && !lane.waiting.empty() && lane.in_flight < options.writes_per_controller) {
    const SendWrite send = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    if (transmit(send)) {
      ++lane.in_flight;
      ++in_flight;
    }
  }
}

// False: dropped, no answer will come.
bool ClusterDriver::Impl::transmit(const SendWrite& send) {
  client::ApiRequest request = to_request(send);
  if (options.leadership != nullptr) {
    // Past the lease nothing leaves, and what is under way is given up before anybody else leads.
    const Duration left = options.leadership->write_time();
    if (left <= Duration::zero()) {
      log::warn("a write is dropped: the lease has run out", {{"controller", send.op}});
      return false;  // the key stays as it is: this process leads no more
    }
    request.timeout = std::min(request.timeout, left);
    request.head_timeout = std::min(request.head_timeout, left);
  }
  options.client->send(std::move(request),
                       [weak = weak_from_this(), send](client::ApiResult result) {
                         if (const auto self = weak.lock()) {
                           self->take_result(send, std::move(result));
                         }
                       });
  return true;
}

void ClusterDriver::Impl::take_result(const SendWrite& send, client::ApiResult result) {
  // Lost races and objects gone meanwhile are everyday life; anything else is worth a line.
  if (result.error && result.error->code != 404 && result.error->code != 409) {
    log::warn("a controller's write failed", {{"controller", send.op},
                                              {"kind", send.request.target.kind->name},
                                              {"key", send.request.target.key.text()},
                                              {"code", result.error->code},
                                              {"error", result.error->message}});
  }
  post([this, op = std::string(send.op), answer = to_result(send.id, std::move(result))]() mutable {
    Lane& lane = lanes[op];
    --lane.in_flight;
    --in_flight;
    engine.absorb(std::move(answer), options.clock->now());
    send_waiting(lane);
  });
}

void ClusterDriver::Impl::perform(const Probe& probe) {
  if (const auto live = LiveQuery::parse(probe.query)) {
    options.client->send(
        to_request(*live), [weak = weak_from_this(), query = probe.query, id = probe.id,
                            question = *live](client::ApiResult result) {
          if (const auto self = weak.lock()) {
            self->post_input(answered(query, to_answer(question, std::move(result)), id));
          }
        });
    return;
  }
  const runtime::Executors::Probe* ask = options.executors->probe(probe.query);
  if (ask == nullptr) {
    engine.absorb(
        answered(probe.query, Error::not_found("nobody answers " + probe.query), probe.id),
        options.clock->now());
    return;
  }
  (*ask)(probe.query,
         [weak = weak_from_this(), query = probe.query, id = probe.id](Result<Value> answer) {
           if (const auto self = weak.lock()) {
             self->post_input(answered(query, std::move(answer), id));
           }
         });
}

void ClusterDriver::Impl::perform(const Execute& execute) {
  std::string query = execute.verb + ":" + execute.id;
  const runtime::Executors::Act* run = options.executors->act(execute.verb);
  if (run == nullptr) {
    log::error("no executor for a verb", {{"verb", execute.verb}, {"id", execute.id}});
    engine.absorb(answered(query, Error::not_found("no executor for " + execute.verb), 0),
                  options.clock->now());
    return;
  }
  (*run)(execute.id, execute.args,
         [weak = weak_from_this(), query = std::move(query)](Result<Value> answer) {
           if (const auto self = weak.lock()) {
             self->post_input(answered(query, std::move(answer), 0));
           }
         });
}

void ClusterDriver::Impl::perform(const Relist& relist) {
  for (const Source& source : sources) {
    const bool whole = relist.ns.empty() || !relist.kind->namespaced;
    const bool has = relist.kind->namespaced || &source == &sources.front();
    if (has && (whole || source.ns.empty() || source.ns == relist.ns)) {
      source.feed->relist(*relist.kind);
    }
  }
}

Value ClusterDriver::Impl::debug(std::size_t limit) const {
  Value state = engine.debug(options.clock->now(), limit);
  Value sending = Value::object();
  for (const auto& [name, lane] : lanes) {
    if (lane.in_flight > 0 || !lane.waiting.empty()) {
      sending.set(name,
                  Value::object({{"underWay", lane.in_flight}, {"waiting", lane.waiting.size()}}));
    }
  }
  state.set("sending", sending);
  state.set("leading", leading);
  return state;
}

ClusterDriver::ClusterDriver(std::span<const Operator* const> operators, DriverOptions options)
    : impl_(std::make_shared<Impl>(operators, std::move(options))) {}

ClusterDriver::~ClusterDriver() {
  stop();
}

void ClusterDriver::start() {
  Impl& impl = *impl_;
  ATHANOR_CHECK(!impl.thread.joinable(), "a driver starts once");
  impl.leading = impl.options.leadership == nullptr;
  impl.timer = impl.options.clock->now();
  impl.make_feeds();
  impl.thread = std::thread([raw = impl_.get()] { raw->loop(); });
  for (const Impl::Source& source : impl.sources) {
    source.feed->start();
  }
}

void ClusterDriver::lead() {
  impl_->post([raw = impl_.get()] {
    raw->leading = true;
    raw->timer = raw->options.clock->now();
  });
}

bool ClusterDriver::drain(Duration patience) {
  struct Gate {
    std::mutex mutex{};
    std::condition_variable changed{};
    std::size_t left = 1;
  };
  auto gate = std::make_shared<Gate>();
  const auto look = [raw = impl_.get(), gate] {
    const std::scoped_lock lock(gate->mutex);
    gate->left = raw->in_flight;
    gate->changed.notify_all();
  };
  impl_->post([raw = impl_.get(), look] {
    raw->draining = true;
    for (auto& [name, lane] : raw->lanes) {
      lane.waiting.clear();
    }
    look();
  });
  constexpr std::chrono::milliseconds kLook(20);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(gate->mutex);
  while (gate->left > 0 && std::chrono::steady_clock::now() < end) {
    gate->changed.wait_for(lock, kLook);
    lock.unlock();
    impl_->post(look);
    lock.lock();
  }
  return gate->left == 0;
}

void ClusterDriver::stop() {
  Impl& impl = *impl_;
  for (const Impl::Source& source : impl.sources) {
    source.feed->stop();
  }
  {
    const std::scoped_lock lock(impl.mutex);
    impl.stopping = true;
    impl.news.notify_one();
  }
  if (impl.thread.joinable()) {
    impl.thread.join();
  }
}

void ClusterDriver::observe(std::string query, Result<Value> answer) {
  impl_->post_input(answered(std::move(query), std::move(answer), 0));
}

bool ClusterDriver::synced() const {
  return std::ranges::all_of(impl_->sources,
                             [](const Impl::Source& source) { return source.feed->synced(); });
}

bool ClusterDriver::idle() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->resting && impl_->inbox.empty() && impl_->tasks.empty();
}

Result<Value> ClusterDriver::debug(std::size_t limit, Duration patience) const {
  struct Answer {
    std::mutex mutex{};
    std::condition_variable there{};
    std::optional<Value> value{};
  };
  auto answer = std::make_shared<Answer>();
  impl_->post([raw = impl_.get(), limit, answer] {
    Value value = raw->debug(limit);
    const std::scoped_lock lock(answer->mutex);
    answer->value = std::move(value);
    answer->there.notify_one();
  });
  std::unique_lock lock(answer->mutex);
  if (!answer->there.wait_for(lock, patience, [&] { return answer->value.has_value(); })) {
    return Error::unavailable("the controllers are busy");
  }
  return *answer->value;
}

Value ClusterDriver::watches() const {
  Value list = Value::list();
  for (const Impl::Source& source : impl_->sources) {
    for (const auto& [kind, status] : source.feed->status()) {
      Value one = Value::object({{"resource", kind->plural}, {"group", kind->group}});
      if (kind->namespaced && !source.ns.empty()) {
        one.set("namespace", source.ns);
      }
      one.set("listed", status.listed);
      one.set("watching", status.watching);
      one.set("version", status.version);
      one.set("lists", status.lists);
      one.set("events", status.events);
      if (status.last_error) {
        one.set("error", status.last_error->message);
      }
      list.push_back(std::move(one));
    }
  }
  return list;
}

}  // namespace athanor::cluster
