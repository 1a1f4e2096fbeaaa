// SPDX-License-Identifier: Apache-2.0
// Four ticks a second.
#include "embedded/lab/serving/ticker.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/contain.hpp"
#include "base/memory.hpp"

namespace athanor::lab {

struct Ticker::Impl {
  std::mutex mutex{};
  std::condition_variable news{};
  bool stopping = false;  // mutex
  std::thread thread{};
};

Ticker::Ticker(apiserver::Server& server, const Clock& clock, std::function<void(Instant)> also)
    : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get(), &server, &clock, also = std::move(also)] {
    constexpr auto kPeriod = std::chrono::milliseconds(250);
    memory::IdleRelease idle;
    std::unique_lock lock(impl->mutex);
    while (!impl->news.wait_for(lock, kPeriod, [impl] { return impl->stopping; })) {
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
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->news.notify_one();
  }
  impl_->thread.join();
}

}  // namespace athanor::lab
