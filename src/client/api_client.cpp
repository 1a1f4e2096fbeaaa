// SPDX-License-Identifier: Apache-2.0
// libcurl's multi interface on one thread. Everything of libcurl and every exchange is touched on
// that thread alone; others leave orders in a queue and wake it.
#include "client/api_client.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "client/api_exchange.hpp"
#include "client/curl_target.hpp"
#include "client/dispatcher.hpp"

namespace athanor::client {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kLongestPoll = std::chrono::milliseconds(1000);
constexpr auto kFirstRetry = std::chrono::milliseconds(100);  // doubled each time, with jitter
constexpr long kIdleConnections = 64;
constexpr std::size_t kIdleHandles = 32;

ApiResult failed_result(Error error) {
  ApiResult result;
  result.error = std::move(error);
  return result;
}

Error stopped() {
  return Error::unavailable("the client was stopped");
}

// A certificate that does not fit will not fit in a moment.
bool is_lasting(int code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_URL_MALFORMAT ||
         code == CURLE_WRITE_ERROR;  // too large
}

class HttpApiClient;

// The caller's end of a watch.
class Handle final : public ApiStream {
 public:
  Handle(std::shared_ptr<StreamLink> link, std::function<void()> leave)
      : link_(std::move(link)), leave_(std::move(leave)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override {
    {
      const MutexLock lock(link_->mutex);
      link_->gone = true;
    }
    leave_();
  }
  [[nodiscard]] SteadyTime last_byte() const override {
    return SteadyTime(SteadyTime::duration(link_->last_byte.load(std::memory_order_relaxed)));
  }

 private:
  std::shared_ptr<StreamLink> link_;
  std::function<void()> leave_;
};

// What threads leave for the client's; outlives the client for the sake of watches' handles.
struct Orders {
  Mutex mutex{};
  std::vector<std::unique_ptr<Exchange>> arriving ATHANOR_GUARDED_BY(mutex){};
  std::vector<std::shared_ptr<StreamLink>> leaving ATHANOR_GUARDED_BY(mutex){};
  std::vector<ApiClient::Task> tasks ATHANOR_GUARDED_BY(mutex){};
  std::vector<std::pair<SteadyTime, ApiClient::Task>> later ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  CURLM* multi ATHANOR_GUARDED_BY(mutex) = nullptr;  // to wake; nullptr once the client is gone
  std::thread::id thread{};                          // the client's

  void wake() const ATHANOR_REQUIRES(mutex) {
    if (multi != nullptr) {
      curl_multi_wakeup(multi);
    }
  }
  [[nodiscard]] bool empty() const ATHANOR_REQUIRES(mutex) {
    return arriving.empty() && leaving.empty() && tasks.empty() && later.empty() && !stopping;
  }
  // Called before something is added: whether the client's thread has to be woken for it. It looks
  // for orders before it sleeps, and what is there already has woken it.
  [[nodiscard]] bool must_wake() const ATHANOR_REQUIRES(mutex) {
    return empty() && std::this_thread::get_id() != thread;
  }
};

class HttpApiClient final : public ApiClient {
 public:
  HttpApiClient(ClusterConfig config, const Clock& clock, Entropy& entropy,
                ApiClientOptions options)
      : config_(std::move(config)),
        entropy_(entropy),
        options_(std::move(options)),
        credentials_(Credentials::create(config_, clock, options_.credentials)),
        multi_(curl_multi_init()),
        dispatcher_({.qps = options_.qps,
                     .burst = options_.burst,
                     .max_in_flight = options_.max_in_flight,
                     .max_queued = options_.max_queued}) {
    orders_->multi = multi_.get();
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kIdleConnections);
  }
  HttpApiClient(const HttpApiClient&) = delete;
  HttpApiClient& operator=(const HttpApiClient&) = delete;
  ~HttpApiClient() override { halt(); }

  Credentials& credentials() { return *credentials_; }
  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void send(ApiRequest request, Done done) override {
    enter(std::make_unique<Exchange>(std::move(request), std::move(done), nullptr));
  }

  std::shared_ptr<ApiStream> watch(ApiRequest request, ApiStreamHandlers handlers) override {
    auto link = std::make_shared<StreamLink>(std::move(handlers));
    auto handle = std::make_shared<Handle>(link, [orders = orders_, link] {
      const MutexLock lock(orders->mutex);
      if (!orders->stopping) {
        const bool wake = orders->must_wake();
        orders->leaving.push_back(link);
        if (wake) {
          orders->wake();
        }
      }
    });
    enter(std::make_unique<Exchange>(std::move(request), Done(), std::move(link)));
    return handle;
  }

  void post(Task task) override {
    order([&](Orders& orders) {
      orders.mutex.assert_held();
      orders.tasks.push_back(std::move(task));
    });
  }

  void post_at(SteadyTime when, Task task) override {
    order([&](Orders& orders) {
      orders.mutex.assert_held();
      orders.later.emplace_back(when, std::move(task));
    });
  }

  void stop() override { halt(); }
  [[nodiscard]] const ClusterConfig& config() const override { return config_; }

 private:
  // False: the client was stopped.
  template <class Add>
  bool order(const Add& add) {
    bool wake = false;
    {
      const MutexLock lock(orders_->mutex);
      if (orders_->stopping) {
        return false;
      }
      wake = orders_->must_wake();
      add(*orders_);
    }
    if (wake) {  // without the mutex, for which the thread would only wait again
      curl_multi_wakeup(multi_.get());
    }
    return true;
  }

  void enter(std::unique_ptr<Exchange> exchange) {
    exchange->began = SteadyClock::now();
    if (!order([&](Orders& orders) {
          orders.mutex.assert_held();
          orders.arriving.push_back(std::move(exchange));
        })) {
      tell(*exchange, failed_result(stopped()));
    }
  }

  void halt();
  void run();
  bool take_orders();
  [[nodiscard]] bool has_orders() const;
  void admit(std::unique_ptr<Exchange> exchange);
  void pump();
  void begin(Exchange& exchange, const Identity& identity);
  void renew_credentials();
  void fail_queued(const Error& error);
  void finish(Exchange& exchange, int code);
  void expire(Exchange& exchange);
  bool try_again(Exchange& exchange, int code, const ApiResult& result);
  void requeue(Exchange& exchange, SteadyTime when);
  void detach(Exchange& exchange);
  void end(Exchange& exchange, ApiResult result);
  void tell(Exchange& exchange, ApiResult result) const;
  void serve_watches();
  void run_timers(SteadyTime now);
  void set_deadline(Exchange& exchange, std::optional<SteadyTime> deadline);
  [[nodiscard]] int poll_timeout(SteadyTime now) const;

  const ClusterConfig config_;
  Entropy& entropy_;
  const ApiClientOptions options_;
  const std::shared_ptr<Credentials> credentials_;
  const std::shared_ptr<Orders> orders_ = std::make_shared<Orders>();

  // Of the client's thread.
  Multi multi_;
  Dispatcher dispatcher_;
  std::map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_{};
  std::map<const StreamLink*, Exchange*> watches_{};
  std::set<std::pair<SteadyTime, std::uint64_t>> deadlines_{};
  std::multimap<SteadyTime, Task> timers_{};
  std::vector<Easy> idle_{};
  std::uint64_t last_id_ = 0;
  bool renewing_ = false;

  Mutex halt_mutex_{};
  std::thread renewer_{};  // of the client's thread until that has ended
  std::thread thread_{};
};

void HttpApiClient::tell(Exchange& exchange, ApiResult result) const {
  if (options_.observe) {
    options_.observe(exchange.request, result.status,
                     std::chrono::duration_cast<Duration>(SteadyClock::now() - exchange.began));
  }
  if (!exchange.is_watch()) {
    exchange.done(std::move(result));
    return;
  }
  const MutexLock lock(exchange.link->mutex);
  if (!exchange.link->gone && exchange.link->handlers.closed) {
    exchange.link->handlers.closed(std::move(result));
  }
}

void HttpApiClient::set_deadline(Exchange& exchange, std::optional<SteadyTime> deadline) {
  if (exchange.deadline) {
    deadlines_.erase({*exchange.deadline, exchange.id});
  }
  exchange.deadline = deadline;
  if (deadline) {
    deadlines_.insert({*deadline, exchange.id});
  }
}

void HttpApiClient::admit(std::unique_ptr<Exchange> exchange) {
  exchange->id = ++last_id_;
  if (!dispatcher_.add(exchange->request.lane, exchange->id)) {
    tell(*exchange,
         failed_result({.code = 429,
                        .reason = "TooManyRequests",
                        .message = "too many requests wait for the client's rate limit"}));
    return;
  }
  if (exchange->is_watch()) {
    watches_[exchange->link.get()] = exchange.get();
  } else {
    exchange->limit = exchange->began + exchange->request.timeout;
  }
  set_deadline(*exchange, exchange->limit);
  exchanges_.emplace(exchange->id, std::move(exchange));
}

// False: stop.
bool HttpApiClient::take_orders() {
  std::vector<std::unique_ptr<Exchange>> arriving;
  std::vector<std::shared_ptr<StreamLink>> leaving;
  std::vector<Task> tasks;
  {
    const MutexLock lock(orders_->mutex);
    if (orders_->stopping) {
      return false;
    }
    arriving.swap(orders_->arriving);
    leaving.swap(orders_->leaving);
    tasks.swap(orders_->tasks);
    for (auto& [when, task] : orders_->later) {
      timers_.emplace(when, std::move(task));
    }
    orders_->later.clear();
  }
  for (auto& exchange : arriving) {
    admit(std::move(exchange));
  }
  for (const auto& link : leaving) {
    if (const auto found = watches_.find(link.get()); found != watches_.end()) {
      ApiResult result;
      result.status = found->second->status;
      end(*found->second, std::move(result));
    }
  }
  for (Task& task : tasks) {
    task();
  }
  return true;
}

void HttpApiClient::run_timers(SteadyTime now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expire(*exchanges_.at(deadlines_.begin()->second));
  }
}

// Begins what may begin now.
void HttpApiClient::pump() {
  while (dispatcher_.queued() > 0) {
    if (!credentials_->fresh()) {
      renew_credentials();
      return;
    }
    const auto identity = credentials_->get();
    if (!identity.ok()) {
      fail_queued(identity.error());
      return;
    }
    const auto turn = dispatcher_.next(SteadyClock::now());
    if (!turn) {
      return;
    }
    const auto found = exchanges_.find(turn->id);
    if (found == exchanges_.end()) {  // it ended while it waited
      dispatcher_.skipped(turn->lane);
      continue;
    }
    begin(*found->second, *identity);
  }
}

void HttpApiClient::begin(Exchange& exchange, const Identity& identity) {
  Easy handle;
  if (idle_.empty()) {
    handle.reset(curl_easy_init());
  } else {
    handle = std::move(idle_.back());
    idle_.pop_back();
    curl_easy_reset(handle.get());
  }
  exchange.state = Exchange::State::Sent;
  exchange.prepare(std::move(handle), config_, identity, options_);
  SteadyTime deadline =
      SteadyClock::now() + exchange.request.connect_timeout + exchange.request.head_timeout;
  if (exchange.limit) {
    deadline = std::min(deadline, *exchange.limit);
  }
  set_deadline(exchange, deadline);
  if (exchange.is_watch()) {
    dispatcher_.ended(exchange.request.lane);  // it goes on and on, and is no load
  }
  curl_multi_add_handle(multi_.get(), exchange.easy.get());
}

// On a thread of its own, as a plugin takes its time.
void HttpApiClient::renew_credentials() {
  if (std::exchange(renewing_, true)) {
    return;
  }
  if (renewer_.joinable()) {
    renewer_.join();  // it has ended: renewing_ was false
  }
  renewer_ = std::thread([this] {
    static_cast<void>(credentials_->get());  // kept, and judged by pump()
    post([this] { renewing_ = false; });
  });
}

void HttpApiClient::fail_queued(const Error& error) {
  std::vector<Exchange*> queued;
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange->state == Exchange::State::Queued) {
      queued.push_back(exchange.get());
    }
  }
  for (Exchange* exchange : queued) {
    end(*exchange, failed_result(error));
  }
}

// Takes the attempt out of libcurl.
void HttpApiClient::detach(Exchange& exchange) {
  if (exchange.easy == nullptr) {
    return;
  }
  curl_multi_remove_handle(multi_.get(), exchange.easy.get());
  if (idle_.size() < kIdleHandles) {
    idle_.push_back(std::move(exchange.easy));
  }
  exchange.easy.reset();
  if (!exchange.is_watch()) {
    dispatcher_.ended(exchange.request.lane);
  }
}

void HttpApiClient::end(Exchange& exchange, ApiResult result) {
  detach(exchange);
  set_deadline(exchange, std::nullopt);
  const auto node = exchanges_.extract(exchange.id);
  watches_.erase(exchange.link.get());
  tell(exchange, std::move(result));
}

void HttpApiClient::requeue(Exchange& exchange, SteadyTime when) {
  detach(exchange);
  exchange.state = Exchange::State::Waiting;
  set_deadline(exchange, exchange.limit);
  timers_.emplace(when, [this, id = exchange.id] {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) {
      return;
    }
    found->second->state = Exchange::State::Queued;
    if (!dispatcher_.add(found->second->request.lane, id)) {
      end(*found->second,
          failed_result(Error::unavailable("too many requests wait to be tried again")));
    }
  });
}

bool HttpApiClient::try_again(Exchange& exchange, int code, const ApiResult& result) {
  const SteadyTime now = SteadyClock::now();
  if (result.status == 401 && !exchange.renewed && credentials_->reject(exchange.generation)) {
    exchange.renewed = true;
    requeue(exchange, now);
    return true;
  }
  if (exchange.is_watch()) {
    return false;
  }
  if (exchange.request.wait_when_throttled && result.retry_after &&
      (result.status == 429 || result.status == 503) &&
      now + *result.retry_after < *exchange.limit) {
    requeue(exchange, now + *result.retry_after);
    return true;
  }
  const bool safe = exchange.reads() || exchange.unsent();
  if (code == CURLE_OK || !safe || is_lasting(code) ||
      exchange.attempts >= exchange.request.retries) {
    return false;
  }
  const auto base = kFirstRetry * (1 << std::min(exchange.attempts, 8));
  const auto wait = base / 2 + std::chrono::milliseconds(entropy_.next() %
                                                         static_cast<std::uint64_t>(base.count()));
  if (now + wait >= *exchange.limit) {
    return false;
  }
  ++exchange.attempts;
  requeue(exchange, now + wait);
  return true;
}

void HttpApiClient::finish(Exchange& exchange, int code) {
  if (exchange.is_watch() && exchange.status == 200 && exchange.readable) {
    exchange.deliver_lines();
  }
  ApiResult result = exchange.result(code, config_);
  if (!try_again(exchange, code, result)) {
    end(exchange, std::move(result));
  }
}

// A deadline has passed: the next one is due, or that was all.
void HttpApiClient::expire(Exchange& exchange) {
  const SteadyTime now = SteadyClock::now();
  if (exchange.head && (!exchange.limit || now < *exchange.limit)) {
    set_deadline(exchange, exchange.limit);  // that was the head's, and it has come
    return;
  }
  const bool sent = exchange.state == Exchange::State::Sent;
  if (sent && exchange.limit && now < *exchange.limit) {
    // The connection may be a dead one: another try gets a new one.
    exchange.request.fresh_connection = true;
    if (try_again(exchange, CURLE_OPERATION_TIMEDOUT, {})) {
      return;
    }
  }
  ApiResult result = failed_result(
      {.code = 504,
       .reason = "Timeout",
       .message = fmt::format(
           "{} {} of {}: {}", exchange.request.method,
           exchange.request.path.substr(0, exchange.request.path.find('?')), config_.server,
           sent ? "no answer in time" : "waited too long for the client's rate limit")});
  result.unknown = sent && !exchange.reads() && !exchange.unsent();
  end(exchange, std::move(result));
}

void HttpApiClient::serve_watches() {
  std::vector<std::uint64_t> ready;
  for (const auto& [link, exchange] : watches_) {
    if (exchange->readable && exchange->status == 200) {
      ready.push_back(exchange->id);
    }
  }
  for (const std::uint64_t id : ready) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) {
      continue;
    }
    Exchange& exchange = *found->second;
    if (exchange.deadline) {  // the head has come just now
      set_deadline(exchange, std::nullopt);
      const MutexLock lock(exchange.link->mutex);
      if (!exchange.link->gone && exchange.link->handlers.opened) {
        exchange.link->handlers.opened();
      }
    }
    if (!exchange.deliver_lines()) {
      end(exchange, failed_result(Error::internal("a line of the watch is not JSON")));
    }
  }
}

int HttpApiClient::poll_timeout(SteadyTime now) const {
  SteadyTime next = now + kLongestPoll;
  if (!timers_.empty()) {
    next = std::min(next, timers_.begin()->first);
  }
  if (!deadlines_.empty()) {
    next = std::min(next, deadlines_.begin()->first);
  }
  if (const auto begins = dispatcher_.next_at(now); begins && !renewing_) {
    next = std::min(next, *begins);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool HttpApiClient::has_orders() const {
  const MutexLock lock(orders_->mutex);
  return !orders_->empty();
}

void HttpApiClient::run() {
  {
    const MutexLock lock(orders_->mutex);
    orders_->thread = std::this_thread::get_id();
  }
  while (take_orders()) {
    run_timers(SteadyClock::now());
    pump();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    serve_watches();
    std::vector<std::pair<std::uint64_t, int>> ended;  // by id: one's end may end another
    for (const EndedTransfer& one : take_ended(multi_)) {
      ended.emplace_back(static_cast<Exchange*>(one.owner)->id, one.code);
    }
    for (const auto& [id, code] : ended) {
      if (const auto found = exchanges_.find(id); found != exchanges_.end()) {
        finish(*found->second, code);
      }
    }
    if (ended.empty() && !has_orders()) {
      curl_multi_poll(multi_.get(), nullptr, 0, poll_timeout(SteadyClock::now()), nullptr);
    }
  }
}

void HttpApiClient::halt() {
  const MutexLock halting(halt_mutex_);
  {
    const MutexLock lock(orders_->mutex);
    orders_->stopping = true;
    orders_->wake();
  }
  if (!thread_.joinable()) {
    return;
  }
  thread_.join();
  if (renewer_.joinable()) {
    renewer_.join();
  }
  // This thread is the only one now.
  std::vector<std::unique_ptr<Exchange>> arriving;
  {
    const MutexLock lock(orders_->mutex);
    orders_->multi = nullptr;
    arriving.swap(orders_->arriving);
  }
  for (auto& exchange : arriving) {
    tell(*exchange, failed_result(stopped()));
  }
  while (!exchanges_.empty()) {
    Exchange& exchange = *exchanges_.begin()->second;
    ApiResult result = failed_result(stopped());
    result.unknown =
        exchange.state == Exchange::State::Sent && !exchange.reads() && !exchange.unsent();
    end(exchange, std::move(result));
  }
  std::vector<Task> tasks;
  std::vector<std::pair<SteadyTime, Task>> later;
  {
    const MutexLock lock(orders_->mutex);
    tasks.swap(orders_->tasks);
    later.swap(orders_->later);
  }
  timers_.clear();
}

}  // namespace

Result<std::shared_ptr<ApiClient>> ApiClient::open(ClusterConfig config, const Clock& clock,
                                                   Entropy& entropy, ApiClientOptions options) {
  if (!curl_ready()) {
    return Error::internal("libcurl could not be initialised");
  }
  if (options.user_agent.empty()) {
    options.user_agent = "athanor/" ATHANOR_VERSION;
  }
  const bool quick = !config.exec;
  auto client =
      std::make_shared<HttpApiClient>(std::move(config), clock, entropy, std::move(options));
  if (quick) {
    ATHANOR_TRY(const Identity identity, client->credentials().get());
    static_cast<void>(identity);
  }
  client->start();
  return std::shared_ptr<ApiClient>(std::move(client));
}

ApiResult ApiClient::call(ApiRequest request) {
  struct Answer {
    Mutex mutex{};
    ConditionVariable came{};
    std::optional<ApiResult> result ATHANOR_GUARDED_BY(mutex){};
  };
  const auto answer = std::make_shared<Answer>();
  send(std::move(request), [answer](ApiResult result) {
    const MutexLock lock(answer->mutex);
    answer->result = std::move(result);
    answer->came.notify_all();
  });
  MutexLock lock(answer->mutex);
  answer->came.wait(lock,
                    [&]() ATHANOR_REQUIRES(answer->mutex) { return answer->result.has_value(); });
  return *std::move(answer->result);
}

}  // namespace athanor::client
