// SPDX-License-Identifier: Apache-2.0
// Carries effects of reflectors to the ApiClient and its answers back. Everything runs on the
// client's thread; a mutex keeps stop() apart from it.
#include "client/feed.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "kube/value/interner.hpp"

namespace athanor::client {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kSweep = std::chrono::minutes(5);  // unreferenced parts
constexpr auto kSecond = std::chrono::seconds(1);

// Returns when the object of an event was written, to the second; nullopt: it does not say. The
// time of a deletion is not among its managers'.
std::optional<Instant> written_at(const Value& event) {
  const Value& metadata = event["object"]["metadata"];
  if (event["type"].as_string() == "DELETED" || metadata.contains("deletionTimestamp")) {
    return std::nullopt;
  }
  std::string_view newest;
  for (const Value& manager : metadata["managedFields"].items()) {
    newest = std::max(newest, manager["time"].as_string());
  }
  return parse_time(newest);
}

}  // namespace

struct Feed::State : std::enable_shared_from_this<Feed::State> {
  struct Slot {
    explicit Slot(Reflector machine) : reflector(std::move(machine)) {}
    Reflector reflector;
    std::shared_ptr<ApiStream> stream{};
    std::uint64_t stream_id = 0;
    std::uint64_t timer = 0;  // counts SetTimer: an older one's call is stale
    std::optional<SteadyClock::time_point> heard{};  // the server confirmed the objects
    std::optional<Duration> late{};                  // of ReflectorStatus
  };
  struct WaitingList {
    std::size_t slot = 0;
    Reflector::Request request{};
  };

  State(ApiClient& api, Sink to, const Clock& time, const FeedOptions& how)
      : client(api), sink(std::move(to)), options(how), clock(time), origin(time.now()) {}

  ApiClient& client;  // outlives what is not stopped
  const Sink sink;
  const FeedOptions options;
  const Clock& clock;
  const Instant origin;  // time goes on steadily from here, whatever the wall's clock does
  const SteadyClock::time_point steady_origin = SteadyClock::now();

  // Guards what follows. Recursive: a stopped client answers at once.
  RecursiveMutex mutex{};
  bool stopped ATHANOR_GUARDED_BY(mutex) = false;
  Interner interner ATHANOR_GUARDED_BY(mutex){
      options.shared_parts};  // of all kinds: owners, times and specs are alike across them, too
  std::vector<Slot> slots ATHANOR_GUARDED_BY(mutex){};
  std::vector<std::shared_ptr<ApiStream>> leaving
      ATHANOR_GUARDED_BY(mutex){};  // released by with()
  std::deque<WaitingList> waiting ATHANOR_GUARDED_BY(mutex){};
  std::size_t lists ATHANOR_GUARDED_BY(mutex) = 0;  // under way
  std::vector<FeedItem> batch ATHANOR_GUARDED_BY(mutex){};
  bool flushing ATHANOR_GUARDED_BY(mutex) = false;  // a task for it is posted

  mutable Mutex status_mutex{};
  std::vector<std::pair<const Kind*, ReflectorStatus>> statuses ATHANOR_GUARDED_BY(status_mutex){};
  std::vector<bool> settled ATHANOR_GUARDED_BY(status_mutex){};  // listed, or refused for good
  std::vector<std::optional<SteadyClock::time_point>> heard ATHANOR_GUARDED_BY(status_mutex){};

  [[nodiscard]] Instant now() const {
    return origin + std::chrono::duration_cast<Duration>(SteadyClock::now() - steady_origin);
  }

  void feed(std::size_t slot, Reflector::Input input) ATHANOR_REQUIRES(mutex) {
    const bool line = std::holds_alternative<Reflector::Line>(input);
    const Instant at = now();
    std::vector<Reflector::Effect> effects;
    slots[slot].reflector.feed(std::move(input), at, effects);
    for (Reflector::Effect& effect : effects) {
      std::visit([&](auto& what) ATHANOR_REQUIRES(mutex) { carry_out(slot, what, at); }, effect);
    }
    if (!line) {
      note(slot);
    }
    start_lists();
  }

  // Notes that the server confirmed the objects of a kind.
  void hear(std::size_t slot) ATHANOR_REQUIRES(mutex) { slots[slot].heard = SteadyClock::now(); }

  // Notes how late an event came.
  void hear(std::size_t slot, const Value& event) ATHANOR_REQUIRES(mutex) {
    const std::string_view type = event["type"].as_string();
    if (type == "ERROR") {
      return;
    }
    hear(slot);
    if (type == "BOOKMARK") {
      slots[slot].late = Duration{};
    } else if (const auto written = written_at(event)) {
      // Written in the course of that second: less than a second is none.
      const auto seconds =
          std::chrono::floor<std::chrono::seconds>(clock.now() - *written) - kSecond;
      slots[slot].late = std::max<Duration>(seconds, Duration{});
    }
  }

  void note(std::size_t slot) ATHANOR_REQUIRES(mutex) {
    const MutexLock lock(status_mutex);
    statuses[slot].second = slots[slot].reflector.status();
    statuses[slot].second.late = slots[slot].late;
    heard[slot] = slots[slot].heard;
    settled[slot] = settled[slot] || statuses[slot].second.listed;
  }

  void carry_out(std::size_t slot, Reflector::Request& request, Instant /*at*/)
      ATHANOR_REQUIRES(mutex) {
    if (request.watch) {
      open_watch(slot, request);
    } else {
      waiting.push_back({.slot = slot, .request = std::move(request)});
    }
  }

  void carry_out(std::size_t slot, const Reflector::Stop& stop, Instant /*at*/)
      ATHANOR_REQUIRES(mutex) {
    if (slots[slot].stream_id == stop.id) {
      leaving.push_back(std::move(slots[slot].stream));
    }
    std::erase_if(waiting, [&](const WaitingList& list) {
      return list.slot == slot && list.request.id == stop.id;
    });
  }

  void carry_out(std::size_t slot, const Reflector::SetTimer& timer, Instant at)
      ATHANOR_REQUIRES(mutex) {
    const std::uint64_t number = ++slots[slot].timer;
    client.post_at(SteadyClock::now() + (timer.when - at), [weak = weak_from_this(), slot, number] {
      with(weak, [&](State& state) {
        state.mutex.assert_held();
        if (state.slots[slot].timer == number) {
          state.feed(slot, Reflector::Tick{});
        }
      });
    });
  }

  void carry_out(std::size_t slot, Reflector::Deliver& deliver, Instant /*at*/)
      ATHANOR_REQUIRES(mutex) {
    if (const auto* list = std::get_if<KindList>(&deliver.item);
        list != nullptr && list->error.has_value()) {
      const MutexLock lock(status_mutex);
      settled[slot] = true;
    }
    batch.push_back(std::move(deliver.item));
    if (!std::exchange(flushing, true)) {
      client.post([weak = weak_from_this()] {
        with(weak, [](State& state) {
          state.mutex.assert_held();
          state.flush();
        });
      });
    }
  }

  void flush() ATHANOR_REQUIRES(mutex) {
    flushing = false;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      note(slot);
    }
    sink(std::exchange(batch, {}));
  }

  void start_lists() ATHANOR_REQUIRES(mutex) {
    while (!waiting.empty() && lists < options.concurrent_lists) {
      const WaitingList next = std::move(waiting.front());
      waiting.pop_front();
      ++lists;
      ApiRequest request;
      request.path = next.request.path;
      request.lane = options.lane;
      request.fresh_connection = next.request.fresh_connection;
      request.timeout = options.list_timeout;
      request.head_timeout = options.list_timeout;
      client.send(std::move(request), [weak = weak_from_this(), slot = next.slot,
                                       id = next.request.id](ApiResult result) {
        with(weak, [&](State& state) {
          state.mutex.assert_held();
          --state.lists;
          if (!result.error) {
            state.hear(slot);
          }
          state.feed(slot, Reflector::Answer{.id = id,
                                             .body = std::move(result.body),
                                             .error = std::move(result.error),
                                             .retry_after = result.retry_after});
        });
      });
    }
  }

  void sweep_later() ATHANOR_REQUIRES(mutex) {
    client.post_at(SteadyClock::now() + kSweep, [weak = weak_from_this()] {
      with(weak, [](State& state) {
        state.mutex.assert_held();
        state.interner.sweep();
        state.sweep_later();
      });
    });
  }

  void open_watch(std::size_t slot, const Reflector::Request& ask) ATHANOR_REQUIRES(mutex) {
    ApiRequest request;
    request.path = ask.path;
    request.lane = options.lane;
    request.fresh_connection = ask.fresh_connection;
    const std::weak_ptr<State> weak = weak_from_this();
    const std::uint64_t id = ask.id;
    slots[slot].stream_id = id;
    leaving.push_back(std::move(slots[slot].stream));
    slots[slot].stream = client.watch(
        std::move(request),
        {.opened =
             [weak, slot, id] {
               with(weak, [&](State& state) {
                 state.mutex.assert_held();
                 state.hear(slot);
                 state.feed(slot, Reflector::Opened{.id = id});
               });
             },
         .line =
             [weak, slot, id](Value event) {
               with(weak, [&](State& state) {
                 state.mutex.assert_held();
                 state.hear(slot, event);
                 state.feed(slot, Reflector::Line{.id = id, .event = std::move(event)});
               });
             },
         .closed =
             [weak, slot, id](ApiResult result) {
               with(weak, [&](State& state) {
                 state.mutex.assert_held();
                 state.feed(slot, Reflector::Answer{.id = id,
                                                    .body = {},
                                                    .error = std::move(result.error),
                                                    .retry_after = result.retry_after});
               });
             }});
  }

  template <class Action>
  static void with(const std::weak_ptr<State>& weak, Action action) {
    const std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) {
      return;
    }
    // Released without the mutex, as in stop().
    std::vector<std::shared_ptr<ApiStream>> leaving;
    const MutexLock lock(state->mutex);
    if (!state->stopped) {
      action(*state);
      leaving.swap(state->leaving);
    }
  }
};

Feed::Feed(std::shared_ptr<ApiClient> client, std::vector<FeedScope> scopes, Sink sink,
           const Clock& clock, Entropy& entropy, FeedOptions options)
    : client_(std::move(client)),
      state_(std::make_shared<State>(*client_, std::move(sink), clock, options)) {
  options.reflector.interner = &state_->interner;
  for (FeedScope& scope : scopes) {
    state_->statuses.emplace_back(scope.kind, ReflectorStatus{});
    state_->slots.emplace_back(Reflector(std::move(scope), options.reflector, entropy));
  }
  state_->settled.resize(state_->slots.size());
  state_->heard.resize(state_->slots.size());
}

Feed::~Feed() {
  stop();
}

void Feed::start() {
  client_->post([weak = std::weak_ptr<State>(state_)] {
    State::with(weak, [](State& state) {
      state.mutex.assert_held();
      for (std::size_t slot = 0; slot < state.slots.size(); ++slot) {
        state.feed(slot, Reflector::Tick{});
      }
      state.sweep_later();
    });
  });
}

void Feed::relist(const Kind& kind) {
  client_->post([weak = std::weak_ptr<State>(state_), kind = &kind] {
    State::with(weak, [&](State& state) {
      state.mutex.assert_held();
      for (std::size_t slot = 0; slot < state.slots.size(); ++slot) {
        if (state.slots[slot].reflector.scope().kind == kind) {
          state.feed(slot, Reflector::Relist{});
        }
      }
    });
  });
}

void Feed::stop() {
  std::vector<std::shared_ptr<ApiStream>> streams;
  {
    const MutexLock lock(state_->mutex);
    state_->stopped = true;
    for (State::Slot& slot : state_->slots) {
      streams.push_back(std::move(slot.stream));
    }
  }
  // Released without the mutex: a running handler holds its stream and waits for the mutex.
  streams.clear();
}

bool Feed::synced() const {
  const MutexLock lock(state_->status_mutex);
  return std::ranges::all_of(state_->settled, [](bool done) { return done; });
}

std::vector<std::pair<const Kind*, ReflectorStatus>> Feed::status() const {
  const MutexLock lock(state_->status_mutex);
  auto statuses = state_->statuses;
  for (std::size_t slot = 0; slot < statuses.size(); ++slot) {
    if (const auto heard = state_->heard[slot]) {
      statuses[slot].second.quiet =
          std::chrono::duration_cast<Duration>(SteadyClock::now() - *heard);
    }
  }
  return statuses;
}

}  // namespace athanor::client
