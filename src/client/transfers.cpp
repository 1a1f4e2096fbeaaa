// SPDX-License-Identifier: Apache-2.0
// libcurl's multi interface on one thread, which alone touches it and the exchanges.
#include "client/transfers.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "client/api_exchange.hpp"

namespace athanor::client {
namespace {

using Steady = std::chrono::steady_clock;

// After that long without a byte a transfer does not count any more.
constexpr auto kSilence = std::chrono::milliseconds(50);
// So many may be waiting for their first byte without being called silent: what keeps a thousand
// dead servers from delaying others for longer than a second, even when nothing is known of
// them yet.
constexpr std::size_t kMostStarting = 64;
constexpr auto kLongestTransferPoll = std::chrono::milliseconds(1000);
// Bounds sockets and memory, however many servers are silent.
constexpr std::size_t kMostUnderWay = 2000;
constexpr long kTransferBuffer = 16L * 1024;
// Kept from one page to the next; a server is asked again minutes later, over a new one.
constexpr long kIdleTransfers = 16;

}  // namespace

struct Transfers::State {
  enum class Pace : std::uint8_t { Starting, Answering, Silent };
  struct Running {
    Fetch wish{};
    Done done{};
    std::unique_ptr<Exchange> exchange{};
    Steady::time_point began{};
    Steady::time_point heard{};  // when the last byte was seen
    curl_off_t bytes = 0;        // by then
    Pace pace = Pace::Starting;
  };
  struct Waiting {
    Fetch wish{};
    Done done{};
  };

  Mutex mutex{};  // guards what follows
  std::vector<Waiting> arriving ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;

  // Of the thread.
  std::size_t busy = 1;
  std::deque<Waiting> waiting{};
  std::map<std::uint64_t, Running> running{};
  std::size_t starting = 0;   // of those that run
  std::size_t answering = 0;  // likewise
  std::uint64_t last = 0;
  Multi multi{};
  ApiClientOptions options{};

  Mutex stop_mutex{};
  std::thread thread{};

  bool take_orders() {
    const MutexLock lock(mutex);
    for (Waiting& one : arriving) {
      if (one.wish.first) {
        waiting.push_front(std::move(one));
      } else {
        waiting.push_back(std::move(one));
      }
    }
    arriving.clear();
    return !stopping;
  }

  void begin(Waiting one) {
    Running started{.wish = std::move(one.wish), .done = std::move(one.done)};
    ApiRequest request;
    request.path = started.wish.path;
    request.connect_timeout = started.wish.connect_timeout;
    request.response_limit = started.wish.response_limit;
    started.exchange = std::make_unique<Exchange>(std::move(request), ApiClient::Done(), nullptr);
    started.exchange->id = ++last;
    started.exchange->prepare(Easy(curl_easy_init()), *started.wish.config, started.wish.identity,
                              options);
    CURL* easy = started.exchange->easy.get();
    // Thousands may be under way.
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kTransferBuffer);
    started.began = started.heard = Steady::now();
    curl_multi_add_handle(multi.get(), easy);
    ++starting;
    running.emplace(last, std::move(started));
  }

  void set_pace(Running& one, Pace pace) {
    starting -= one.pace == Pace::Starting ? 1 : 0;
    answering -= one.pace == Pace::Answering ? 1 : 0;
    one.pace = pace;
    answering += pace == Pace::Answering ? 1 : 0;
  }

  [[nodiscard]] bool has_room() const {
    return answering < busy && starting < kMostStarting && running.size() < kMostUnderWay;
  }

  void begin_waiting() {
    while (!waiting.empty() && has_room()) {
      Waiting next = std::move(waiting.front());
      waiting.pop_front();
      begin(std::move(next));
    }
  }

  void end(std::uint64_t id, ApiResult result) {
    const auto at = running.find(id);
    Running ended = std::move(at->second);
    running.erase(at);
    set_pace(ended, Pace::Silent);
    curl_multi_remove_handle(multi.get(), ended.exchange->easy.get());
    ended.exchange.reset();
    ended.done(std::move(result),
               std::chrono::duration_cast<Duration>(Steady::now() - ended.began));
  }

  // True: something ended.
  bool take_ended() {
    const std::vector<EndedTransfer> ended = client::take_ended(multi);
    for (const EndedTransfer& transfer : ended) {
      const std::uint64_t id = static_cast<Exchange*>(transfer.owner)->id;
      Running& one = running.at(id);
      end(id, one.exchange->result(transfer.code, *one.wish.config));
    }
    return !ended.empty();
  }

  // What is counted but silent is not counted any more; what is too late ends.
  void check_clock() {
    const auto now = Steady::now();
    std::vector<std::uint64_t> late;
    for (auto& [id, one] : running) {
      if (one.pace != Pace::Silent) {
        curl_off_t body = 0;
        long head = 0;
        curl_easy_getinfo(one.exchange->easy.get(), CURLINFO_SIZE_DOWNLOAD_T, &body);
        curl_easy_getinfo(one.exchange->easy.get(), CURLINFO_HEADER_SIZE, &head);
        if (const curl_off_t bytes = body + head; bytes != one.bytes) {
          one.bytes = bytes;
          one.heard = now;
          set_pace(one, Pace::Answering);
        } else if (now - one.heard >= kSilence) {
          set_pace(one, Pace::Silent);
        }
      }
      if (now >= one.began + limit_of(one)) {
        late.push_back(id);
      }
    }
    for (const std::uint64_t id : late) {
      ApiResult result;
      result.error = Error{.code = 504, .reason = "Timeout", .message = "no answer in time"};
      end(id, std::move(result));
    }
  }

  static Duration limit_of(const Running& one) {
    return one.exchange->head ? one.wish.timeout
                              : std::min(one.wish.head_timeout, one.wish.timeout);
  }

  [[nodiscard]] int poll_timeout() const {
    const auto now = Steady::now();
    auto next = now + kLongestTransferPoll;
    for (const auto& [id, one] : running) {
      next = std::min<Steady::time_point>(next, one.began + limit_of(one));
      if (one.pace != Pace::Silent && !waiting.empty()) {
        next = std::min<Steady::time_point>(next, one.heard + kSilence);
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  void run() {
    while (take_orders()) {
      begin_waiting();
      int active = 0;
      curl_multi_perform(multi.get(), &active);
      const bool ended = take_ended();
      check_clock();
      if (!ended && (waiting.empty() || !has_room())) {
        curl_multi_poll(multi.get(), nullptr, 0, poll_timeout(), nullptr);
      }
    }
  }
};

Transfers::Transfers(std::size_t busy) : state_(std::make_unique<State>()) {
  State& state = *state_;
  static_cast<void>(curl_ready());  // without it there is no multi handle either
  state.multi.reset(curl_multi_init());
  curl_multi_setopt(state.multi.get(), CURLMOPT_MAXCONNECTS, kIdleTransfers);
  state.busy = std::max<std::size_t>(busy, 1);
  state.options.http2 = false;
  state.options.user_agent = "athanor/" ATHANOR_VERSION;
  state.thread = std::thread([raw = state_.get()] { raw->run(); });
}

Transfers::~Transfers() {
  stop();
}

void Transfers::send(Fetch transfer, Done done) {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  if (!state.stopping) {
    state.arriving.push_back({.wish = std::move(transfer), .done = std::move(done)});
    curl_multi_wakeup(state.multi.get());
  }
}

void Transfers::stop() {
  State& state = *state_;
  const MutexLock stopping(state.stop_mutex);
  {
    const MutexLock lock(state.mutex);
    state.stopping = true;
    curl_multi_wakeup(state.multi.get());
  }
  if (!state.thread.joinable()) {
    return;
  }
  state.thread.join();
  // This thread is the only one now.
  while (!state.running.empty()) {
    ApiResult result;
    result.error = Error::unavailable("the program ends");
    state.end(state.running.begin()->first, std::move(result));
  }
}

}  // namespace athanor::client
