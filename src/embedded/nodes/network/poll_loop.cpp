// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/poll_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace athanor::nodes {
namespace {

constexpr int kEventsPerTurn = 64;
constexpr std::int64_t kLongestWait = 60'000;

}  // namespace

PollLoop::PollLoop()
    : poll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  add(wake_.get(), EPOLLIN, [this](std::uint32_t /*events*/) {
    std::uint64_t count = 0;
    static_cast<void>(::read(wake_.get(), &count, sizeof count));
  });
}

PollLoop::~PollLoop() = default;

void PollLoop::add(int file, std::uint32_t events, Handler handler) {
  handlers_.insert_or_assign(file, std::make_shared<Handler>(std::move(handler)));
  epoll_event event{};
  event.events = events;
  event.data.fd = file;
  ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, file, &event);
}

void PollLoop::change(int file, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = file;
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, file, &event);
}

void PollLoop::remove(int file) {
  handlers_.erase(file);
  ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, file, nullptr);
}

void PollLoop::after(std::int64_t milliseconds, std::function<void()> work) {
  timers_.emplace(now_ms() + milliseconds, std::move(work));
}

void PollLoop::run() {
  epoll_event events[kEventsPerTurn];
  while (true) {
    const int count = ::epoll_wait(poll_.get(), events, kEventsPerTurn, wait_ms());
    for (int i = 0; i < count; ++i) {
      const auto found = handlers_.find(events[i].data.fd);
      if (found != handlers_.end()) {
        const std::shared_ptr<Handler> handler = found->second;  // it may remove itself
        (*handler)(events[i].events);
      }
    }
    while (!timers_.empty() && timers_.begin()->first <= now_ms()) {
      const std::function<void()> work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      work();
    }
    run_posted();
    const MutexLock lock(mutex_);
    if (stopped_) {
      return;
    }
  }
}

void PollLoop::post(std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void PollLoop::stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

std::int64_t PollLoop::now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int PollLoop::wait_ms() const {
  const std::int64_t next =
      timers_.empty() ? kLongestWait : std::max<std::int64_t>(0, timers_.begin()->first - now_ms());
  return static_cast<int>(std::min(next, kLongestWait));
}

void PollLoop::run_posted() {
  std::vector<std::function<void()>> posted;
  {
    const MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) {
    work();
  }
}

}  // namespace athanor::nodes
