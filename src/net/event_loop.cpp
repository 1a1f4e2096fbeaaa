// SPDX-License-Identifier: Apache-2.0
// The only file that includes Asio.
#include "net/event_loop.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/contain.hpp"
#include "base/mutex.hpp"

namespace athanor::net {

namespace asio = boost::asio;

struct EventLoop::State {
  // One thread runs the handlers, others post.
  asio::io_context context{};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  Mutex mutex{};
  bool closed ATHANOR_GUARDED_BY(mutex) = false;
};

struct EventLoop::Descriptor::State {
  State(asio::io_context& context, int fd) : stream(context, fd) {}
  asio::posix::stream_descriptor stream;
};

struct EventLoop::Timer::State {
  explicit State(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::post(Task task) {
  const MutexLock lock(state_->mutex);
  if (!state_->closed) {
    asio::post(state_->context, std::move(task));
  }
}

// Tasks contain their own failures; any other costs one task.
void EventLoop::run() {
  while (contain([this] { state_->context.run(); })) {
  }
}

void EventLoop::stop() {
  state_->context.stop();
}

void EventLoop::close() {
  {
    const MutexLock lock(state_->mutex);
    state_->closed = true;
  }
  // Posted tasks run to their end: they own what they would otherwise leak in a cycle.
  state_->work.reset();
  state_->context.restart();
  state_->context.poll();
}

EventLoop::Descriptor::Descriptor(EventLoop& loop, int fd)
    : state_(std::make_unique<State>(loop.state_->context, fd)) {}
EventLoop::Descriptor::~Descriptor() = default;

void EventLoop::Descriptor::when_readable(Task task) {
  state_->stream.async_wait(
      asio::posix::stream_descriptor::wait_read,
      [task = std::move(task)](const boost::system::error_code& failure) mutable {
        if (!failure) {
          task();
        }
      });
}

void EventLoop::Descriptor::when_writable(Task task) {
  state_->stream.async_wait(
      asio::posix::stream_descriptor::wait_write,
      [task = std::move(task)](const boost::system::error_code& failure) mutable {
        if (!failure) {
          task();
        }
      });
}

void EventLoop::Descriptor::close() {
  boost::system::error_code ignored;  // a descriptor that fails to close is closed nevertheless
  state_->stream.close(ignored);
}

EventLoop::Timer::Timer(EventLoop& loop) : state_(std::make_unique<State>(loop.state_->context)) {}
EventLoop::Timer::~Timer() = default;

void EventLoop::Timer::set(std::chrono::milliseconds after, Task task) {
  state_->timer.expires_after(after);
  state_->timer.async_wait(
      [task = std::move(task)](const boost::system::error_code& failure) mutable {
        if (!failure) {
          task();
        }
      });
}

void EventLoop::Timer::cancel() {
  state_->timer.cancel();
}

}  // namespace athanor::net
