// SPDX-License-Identifier: Apache-2.0
// Feeds into the engine's host, requests out of it. These leave through the client, which no thread
// waits for: writes of different keys are under way at the same time.
#include "cluster/cluster_driver.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "cluster/narrow_watch.hpp"
#include "cluster/write_call.hpp"
#include "runtime/engine/engine_host.hpp"
#include "runtime/engine/host_question.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/step.hpp"
#include "runtime/view/tls_profile.hpp"

namespace athanor::cluster {

using runtime::Probe;
using runtime::Relist;
using runtime::SendWrite;

namespace {

// Of all controllers together: a few, so that work has the better part of the client's rate.
constexpr std::size_t kEventsUnderWay = 4;
constexpr std::size_t kMostEvents = 10'000;
// Of each kind; as many as its feed lets share what they have in common.
constexpr std::size_t kWarmObjects = client::ReflectorOptions{}.shared;

runtime::EngineOptions engine_options(const DriverOptions& options) {
  ATHANOR_CHECK(options.client != nullptr && options.entropy != nullptr,
                "the driver stands on all of these");
  return {.entropy = options.engine_entropy == nullptr ? options.entropy : options.engine_entropy,
          .config = options.config,
          .namespaces = options.namespaces,
          .places = options.places,
          .warm_objects = kWarmObjects,
          .metrics = options.metrics,
          .stopwatch = options.clock,
          .tracer = options.tracer,
          .instruments = options.instruments};
}

Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

struct ClusterDriver::Impl : std::enable_shared_from_this<Impl> {
  // What one controller wants to write; or the Events of all, which no key waits for.
  struct Lane {
    std::size_t most = 0;  // under way at the same time
    std::size_t in_flight = 0;
    std::deque<SendWrite> waiting{};
    std::map<Key, SendWrite*> events{};  // those that wait, by their names
  };
  // One feed a namespace; kinds without namespaces belong to the first.
  struct Source {
    std::string ns{};
    std::unique_ptr<client::Feed> feed{};
  };

  Impl(std::span<const Operator* const> operators, DriverOptions driver_options)
      : options(std::move(driver_options)),
        held(options.held),
        host(std::make_shared<runtime::EngineHost>(operators, engine_options(options),
                                                   host_options())) {}

  runtime::HostOptions host_options();
  void run_keys() { host->run_keys(leading && !held && !draining); }
  void make_feeds();
  [[nodiscard]] bool is_watched(const Kind& kind, const std::string& ns, bool first) const;
  void log_refusal(const Kind& kind, const std::string& ns, const Error& error) const;
  void post_items(std::vector<client::FeedItem> batch, const std::string& ns);
  void write(const SendWrite& send);
  Lane& lane_of(const SendWrite& send);
  void record(Lane& lane, const SendWrite& send);
  void send_waiting(Lane& lane);
  bool transmit(const SendWrite& send);
  [[nodiscard]] bool is_hidden(const SendWrite& send, const runtime::WriteResult& result) const;
  void take_result(const SendWrite& send, client::ApiResult result);
  bool probe(const Probe& probe);
  void relist(const Relist& relist);
  [[nodiscard]] Value debug(std::size_t limit) const;
  template <class T>
  Result<T> ask(Duration patience, UniqueFunction<T()> question);

  DriverOptions options;
  bool held;  // owned by the controllers thread once it runs, as what follows the host
  std::shared_ptr<runtime::EngineHost> host;
  // Owned by the controllers thread once it runs.
  std::map<std::string, Lane, std::less<>> lanes{};  // by controller
  std::size_t in_flight = 0;
  bool leading = false;
  bool draining = false;

  // Made before the threads, never changed.
  std::vector<Source> sources{};
  std::map<const Kind*, NarrowWatch, KindOrder> narrowed{};  // kinds watched through selectors
};

runtime::HostOptions ClusterDriver::Impl::host_options() {
  return {.clock = options.clock,
          .executors = options.executors,
          .world = {.write = [this](const SendWrite& send) { write(send); },
                    .relist = [this](const Relist& one) { relist(one); },
                    .probe = [this](const Probe& one) { return probe(one); }},
          .journal = options.journal,
          .steady = steady_now,
          .running = false};
}

// Kinds without namespaces belong to the first one's feed.
bool ClusterDriver::Impl::is_watched(const Kind& kind, const std::string& ns, bool first) const {
  const auto has = [&](const std::vector<std::string>& all) {
    return std::ranges::find(all, ns) != all.end();
  };
  if (!kind.namespaced) {
    return first;
  }
  const auto place = options.places.find(&kind);
  if (place != options.places.end()) {
    return has(place->second.watched);
  }
  return options.namespaces.empty() ? ns.empty() : has(options.namespaces);
}

void ClusterDriver::Impl::make_feeds() {
  std::vector<std::string> namespaces = options.namespaces;
  for (const auto& [kind, place] : options.places) {
    namespaces.insert(namespaces.end(), place.watched.begin(), place.watched.end());
  }
  const bool has_elsewhere = std::ranges::any_of(host->engine().kinds(), [this](const Kind* kind) {
    return kind->namespaced && !options.places.contains(kind);
  });
  if (namespaces.empty() || (options.namespaces.empty() && has_elsewhere)) {
    namespaces.emplace_back();  // every namespace
  }
  std::ranges::sort(namespaces);
  namespaces.erase(std::ranges::unique(namespaces).begin(), namespaces.end());
  for (const std::string& ns : namespaces) {
    std::vector<client::FeedScope> scopes;
    for (const Kind* kind : host->engine().kinds()) {
      if (!is_watched(*kind, ns, ns == namespaces.front())) {
        continue;
      }
      client::FeedScope scope{.kind = kind, .ns = kind->namespaced ? ns : std::string()};
      if (kind == &kOpenShiftServer) {
        scope.absent_retry = options.platform_look;
      }
      if (options.narrow) {
        options.narrow(scope);
      }
      if (NarrowWatch watch(scope); watch.hides_some()) {
        narrowed.insert_or_assign(kind, std::move(watch));
      }
      scopes.push_back(std::move(scope));
    }
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

// Once, when it begins: controllers go on without the kind.
void ClusterDriver::Impl::log_refusal(const Kind& kind, const std::string& ns,
                                      const Error& error) const {
  constexpr int kNoSuchKind = 404;
  if (error.code == kNoSuchKind &&
      std::ranges::find(options.optional, &kind) != options.optional.end()) {
    log::info("an optional kind is not served",
              {{"kind", kind.name}, {"group", kind.group}, {"namespace", ns}});
    return;
  }
  log::warn(
      "a kind cannot be read",
      {{"kind", kind.name}, {"namespace", ns}, {"code", error.code}, {"error", error.message}});
}

void ClusterDriver::Impl::post_items(std::vector<client::FeedItem> batch, const std::string& ns) {
  for (const client::FeedItem& item : batch) {
    if (const auto* list = std::get_if<client::KindList>(&item); list != nullptr && list->error) {
      log_refusal(*list->kind, ns, *list->error);
    }
  }
  std::vector<runtime::Input> inputs;
  inputs.reserve(batch.size());
  for (client::FeedItem& item : batch) {
    inputs.push_back(to_input(std::move(item), ns));
  }
  host->post(std::move(inputs));
}

ClusterDriver::Impl::Lane& ClusterDriver::Impl::lane_of(const SendWrite& send) {
  const bool event = send.request.target.kind == &api::kEvent;
  Lane& lane = lanes[event ? "events" : std::string(send.op)];
  lane.most = event ? kEventsUnderWay : options.writes_per_controller;
  return lane;
}

// An Event that still waits is brought up to date, so that however slowly they go none gets lost.
void ClusterDriver::Impl::record(Lane& lane, const SendWrite& send) {
  const Key& key = send.request.target.key;
  const auto known = lane.events.find(key);
  if (known == lane.events.end() && lane.waiting.size() < kMostEvents) {
    lane.waiting.push_back(send);
    lane.events.emplace(key, &lane.waiting.back());
    return;
  }
  runtime::WriteResult done{.id = send.id};
  if (known == lane.events.end()) {
    done.error = Error::unavailable("too many Events wait");
  } else {
    for (const Member& member : send.request.body.members()) {
      known->second->request.body.set(member.key(), member.value);
    }
  }
  host->absorb(std::move(done));
}

void ClusterDriver::Impl::write(const SendWrite& send) {
  Lane& lane = lane_of(send);
  if (send.request.target.kind == &api::kEvent) {
    record(lane, send);
  } else {
    lane.waiting.push_back(send);
  }
  send_waiting(lane);
}

void ClusterDriver::Impl::send_waiting(Lane& lane) {
  while (!draining && !lane.waiting.empty() && lane.in_flight < lane.most) {
    const SendWrite send = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    lane.events.erase(send.request.target.key);
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
    // Past the lease nothing leaves, and what is under way is given up before another replica
    // leads.
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

// WriteResult::hidden. On any thread.
bool ClusterDriver::Impl::is_hidden(const SendWrite& send,
                                    const runtime::WriteResult& result) const {
  const auto at = narrowed.find(send.request.target.kind);
  return at != narrowed.end() && (!result.object || !at->second.shows(*result.object));
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
  runtime::WriteResult answer = to_result(send.id, std::move(result));
  answer.hidden = is_hidden(send, answer);
  host->post([this, send, answer = std::move(answer)]() mutable {
    Lane& lane = lane_of(send);
    --lane.in_flight;
    --in_flight;
    host->absorb(std::move(answer));
    send_waiting(lane);
  });
}

bool ClusterDriver::Impl::probe(const Probe& probe) {
  const auto live = LiveQuery::parse(probe.query);
  if (!live) {
    return false;
  }
  options.client->send(
      to_request(*live), [weak = weak_from_this(), query = probe.query, id = probe.id,
                          question = *live](client::ApiResult result) {
        if (const auto self = weak.lock()) {
          self->host->post(
              runtime::Input(runtime::answered(query, as_result(question, std::move(result)), id)));
        }
      });
  return true;
}

void ClusterDriver::Impl::relist(const Relist& relist) {
  for (const Source& source : sources) {
    const bool whole = relist.ns.empty() || !relist.kind->namespaced;
    const bool has = is_watched(*relist.kind, source.ns, &source == &sources.front());
    if (has && (whole || source.ns.empty() || source.ns == relist.ns)) {
      source.feed->relist(*relist.kind);
    }
  }
}

Value ClusterDriver::Impl::debug(std::size_t limit) const {
  Value state = host->engine().debug(options.clock->now(), limit);
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

template <class T>
Result<T> ClusterDriver::Impl::ask(Duration patience, UniqueFunction<T()> question) {
  auto answer = runtime::ask_host<T>(*host, patience, std::move(question));
  return answer ? Result<T>(*std::move(answer)) : Error::unavailable("the controllers are busy");
}

ClusterDriver::ClusterDriver(std::span<const Operator* const> operators, DriverOptions options)
    : impl_(std::make_shared<Impl>(operators, std::move(options))) {
  // Before start(): other threads ask for synced() and watches() from then on, and a driver without
  // feeds would call itself synced.
  impl_->make_feeds();
}

ClusterDriver::~ClusterDriver() {
  stop();
}

void ClusterDriver::start() {
  Impl& impl = *impl_;
  impl.leading = impl.options.leadership == nullptr;
  impl.run_keys();
  impl.host->set_role(impl.leading ? "standalone" : "follower");
  impl.host->start();
  for (const Impl::Source& source : impl.sources) {
    source.feed->start();
  }
}

void ClusterDriver::lead() {
  impl_->host->post([raw = impl_.get()] {
    raw->leading = true;
    raw->host->set_role("leader");
    raw->run_keys();
  });
}

void ClusterDriver::release() {
  impl_->host->post([raw = impl_.get()] {
    raw->held = false;
    raw->run_keys();
  });
}

bool ClusterDriver::drain(Duration patience) {
  struct Gate {
    Mutex mutex{};
    ConditionVariable changed{};
    std::size_t left ATHANOR_GUARDED_BY(mutex) = 1;
  };
  auto gate = std::make_shared<Gate>();
  const auto look = [raw = impl_.get(), gate] {
    const MutexLock lock(gate->mutex);
    gate->left = raw->in_flight;
    gate->changed.notify_all();
  };
  impl_->host->post([raw = impl_.get(), look] {
    raw->draining = true;
    raw->run_keys();
    for (auto& [name, lane] : raw->lanes) {
      lane.waiting.clear();
      lane.events.clear();
    }
    look();
  });
  constexpr std::chrono::milliseconds kLook(20);
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(gate->mutex);
  while (gate->left > 0 && std::chrono::steady_clock::now() < end) {
    gate->changed.wait_for(lock, kLook);
    lock.unlock();
    impl_->host->post(look);
    lock.lock();
  }
  return gate->left == 0;
}

void ClusterDriver::stop() {
  Impl& impl = *impl_;
  for (const Impl::Source& source : impl.sources) {
    source.feed->stop();
  }
  impl.host->stop();
}

void ClusterDriver::observe(std::string query, Result<Value> answer) {
  impl_->host->post(runtime::Input(runtime::answered(std::move(query), std::move(answer), 0)));
}

void ClusterDriver::inspect(std::function<void(const View& view, Instant now)> reader) {
  impl_->host->post([raw = impl_.get(), reader = std::move(reader)] {
    raw->host->engine().look([&](const View& view) { reader(view, raw->options.clock->now()); });
  });
}

bool ClusterDriver::synced() const {
  return std::ranges::all_of(impl_->sources,
                             [](const Impl::Source& source) { return source.feed->synced(); });
}

bool ClusterDriver::idle() const {
  return impl_->host->idle();
}

Result<Value> ClusterDriver::debug(std::size_t limit, Duration patience) const {
  return impl_->ask<Value>(patience, [raw = impl_.get(), limit] { return raw->debug(limit); });
}

Result<std::string> ClusterDriver::state_metrics(Duration patience) const {
  return impl_->ask<std::string>(patience, [raw = impl_.get()] {
    return raw->host->engine().state_metrics(raw->options.clock->now());
  });
}

Duration ClusterDriver::busy_for() const {
  return impl_->host->busy_for();
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
      if (const auto lag = client::watch_lag(status)) {
        one.set("lagSeconds", std::chrono::duration<double>(*lag).count());
        one.set("quietSeconds", std::chrono::duration<double>(status.quiet.value_or(*lag)).count());
      }
      if (status.last_error) {
        one.set("error", status.last_error->message);
        one.set("code", status.last_error->code);
      }
      list.push_back(std::move(one));
    }
  }
  return list;
}

}  // namespace athanor::cluster
