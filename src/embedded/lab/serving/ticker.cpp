// SPDX-License-Identifier: Apache-2.0
// Four ticks a second.
#include "embedded/lab/serving/ticker.hpp"

#include <chrono>
#include <thread>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/memory.hpp"
#include "base/mutex.hpp"

namespace athanor::lab {

struct Ticker::Impl {
  Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

Ticker::Ticker(apiserver::Server& server, const Clock& clock, std::function<void(Instant)> also)
    : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get(), &server, &clock, also = std::move(also)] {
    constexpr auto kPeriod = std::chrono::milliseconds(250);
    memory::IdleRelease idle;
    MutexLock lock(impl->mutex);
    while (!impl->news.wait_for(
        lock, kPeriod, [impl]() ATHANOR_REQUIRES(impl->mutex) { return impl->stopping; })) {
      lock.unlock();
      static_cast<void>(contain([&] {
        server.tick(clock.now());
        if (also) {
          also(clock.now());
        }
        idle.look(std::chrono::steady_clock::now());
      }));
      lock.lock();
    }
  });
}

Ticker::~Ticker() {
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->news.notify_one();
  }
  impl_->thread.join();
}

}  // namespace athanor::lab
