// SPDX-License-Identifier: Apache-2.0
// Requests, answers and ticks of the election.
#include "cluster/leadership.hpp"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace athanor::cluster {

using runtime::Elector;
using runtime::ElectorEffect;
using runtime::ElectorEffects;
using runtime::Steady;
using SteadyClock = std::chrono::steady_clock;

namespace {

Steady steady_instant() {
  return std::chrono::duration_cast<Steady>(SteadyClock::now().time_since_epoch());
}

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases";

}  // namespace

struct Leadership::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<client::ApiClient> api, const runtime::ElectorOptions& options,
        const Clock& wall_clock, LeadershipListeners listeners)
      : client(std::move(api)), clock(wall_clock), told(std::move(listeners)), elector(options) {}

  // Feeds the elector and does what it asks for. The lock is not held meanwhile: an answer may come
  // at once.
  template <class Feed>
  void feed(Feed step) {
    ElectorEffects effects;
    {
      const MutexLock lock(mutex);
      step(elector, steady_instant(), clock.now(), effects);
      deadline = elector.leading() ? elector.deadline().count() : 0;
      released = elector.released();
    }
    changed.notify_all();
    for (const ElectorEffect& effect : effects) {
      std::visit([&](const auto& one) { perform(one); }, effect);
    }
  }

  void perform(const runtime::ReadLease& read) { send(read.id, "GET", path(true), {}); }
  void perform(const runtime::WriteLease& write) {
    send(write.id, write.create ? "POST" : "PUT", path(!write.create), write.body);
  }
  void perform(const runtime::WakeElector& wake) {
    client->post_at(SteadyClock::time_point(wake.at), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->feed([](Elector& one, Steady now, Instant wall, ElectorEffects& effects) {
          one.tick(now, wall, effects);
        });
      }
    });
  }
  void perform(const runtime::BecameLeader&) {
    log::info("leading", {{"lease", elector.options().lease.text()},
                          {"identity", elector.options().identity}});
    if (told.won) {
      told.won();
    }
  }
  void perform(const runtime::LostLeadership& lost) {
    log::error("leadership lost",
               {{"lease", elector.options().lease.text()}, {"reason", lost.why}});
    if (told.lost) {
      told.lost(lost.why);
    }
  }
  void perform(const runtime::LeaderIs& leader) {
    log::info("the lease is held",
              {{"lease", elector.options().lease.text()}, {"holder", leader.identity}});
  }

  [[nodiscard]] std::string path(bool named) const {
    const Key& key = elector.options().lease;
    std::string text = fmt::format(kLeases, key.ns);
    return named ? fmt::format("{}/{}", text, key.name) : text;
  }

  void send(std::uint64_t id, const char* method, std::string request_path, Value body) {
    client::ApiRequest request;
    request.method = method;
    request.path = std::move(request_path);
    request.body = std::move(body);
    request.lane = client::Lane::Lease;
    request.retries = 0;  // the elector has a pace of its own
    // Two tries fit before the lease is lost.
    request.timeout = elector.options().renew_deadline / 2;
    request.head_timeout = request.timeout;
    request.connect_timeout = request.timeout;
    client->send(std::move(request), [weak = weak_from_this(), id](client::ApiResult result) {
      if (const auto self = weak.lock()) {
        self->answered(id, std::move(result));
      }
    });
  }

  void answered(std::uint64_t id, client::ApiResult result) {
    if (result.error && result.error->code != 404 && result.error->code != 409) {
      log::warn("the lease cannot be read or written",
                {{"lease", elector.options().lease.text()}, {"error", result.error->message}});
    }
    const Result<Object> lease = result.error ? Result<Object>(*std::move(result.error))
                                              : Result<Object>(Object(std::move(result.body)));
    feed([&](Elector& one, Steady now, Instant wall, ElectorEffects& effects) {
      one.answer(id, lease, now, wall, effects);
    });
  }

  std::shared_ptr<client::ApiClient> client;
  const Clock& clock;
  LeadershipListeners told;
  std::atomic<std::int64_t> deadline{0};  // steady microseconds; 0: not leading
  Mutex mutex{};
  Elector elector;  // its options never change; all else under `mutex`, by feed()
  bool released ATHANOR_GUARDED_BY(mutex) = false;
  ConditionVariable changed{};
};

Leadership::Leadership(std::shared_ptr<client::ApiClient> client,
                       const runtime::ElectorOptions& options, const Clock& clock,
                       LeadershipListeners listeners)
    : state_(std::make_shared<State>(std::move(client), options, clock, std::move(listeners))) {}

Leadership::~Leadership() = default;

void Leadership::start() {
  state_->feed([](Elector& one, Steady now, Instant wall, ElectorEffects& effects) {
    one.start(now, wall, effects);
  });
}

bool Leadership::leading() const {
  return write_time() > Duration::zero();
}

Duration Leadership::write_time() const {
  const Steady left = Steady(state_->deadline.load()) - steady_instant();
  if (left <= Steady::zero()) {
    return Duration::zero();
  }
  // Half of what lies between the deadline and the earliest successor is for the server's own time.
  const runtime::ElectorOptions& options = state_->elector.options();
  return left + (options.lease_duration - options.renew_deadline) / 2;
}

void Leadership::release(Duration patience) {
  state_->feed([](Elector& one, Steady now, Instant wall, ElectorEffects& effects) {
    one.stop(now, wall, effects);
  });
  MutexLock lock(state_->mutex);
  state_->changed.wait_for(lock, patience,
                           [&]() ATHANOR_REQUIRES(state_->mutex) { return state_->released; });
}

}  // namespace athanor::cluster
