// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/log_reader.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/contain.hpp"

namespace athanor::nodes {

struct LogReader::Queue::State {
  std::mutex mutex{};
  std::condition_variable news{};
  std::deque<std::weak_ptr<Job>> jobs{};  // mutex
  bool stopping = false;                  // mutex
};

struct LogReader::Thread {
  std::thread thread{};
};

LogReader::Queue::Queue() : state_(std::make_unique<State>()) {}

LogReader::Queue::~Queue() = default;

void LogReader::Queue::add(std::weak_ptr<Job> job) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->stopping) {
    state_->jobs.push_back(std::move(job));
    state_->news.notify_one();
  }
}

void LogReader::Queue::run() {
  std::unique_lock lock(state_->mutex);
  while (true) {
    state_->news.wait(lock, [this] { return state_->stopping || !state_->jobs.empty(); });
    if (state_->stopping) {
      return;
    }
    const std::weak_ptr<Job> next = std::move(state_->jobs.front());
    state_->jobs.pop_front();
    lock.unlock();
    bool more = false;
    if (const std::shared_ptr<Job> job = next.lock()) {
      static_cast<void>(contain([&] { more = job->read_block(); }));
    }
    lock.lock();
    if (more) {
      state_->jobs.push_back(next);
    }
  }
}

void LogReader::Queue::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->jobs.clear();
  state_->news.notify_one();
}

LogReader::LogReader() : queue_(std::make_shared<Queue>()), thread_(std::make_unique<Thread>()) {
  thread_->thread = std::thread([queue = queue_] { queue->run(); });
}

LogReader::~LogReader() {
  queue_->stop();
  thread_->thread.join();
}

}  // namespace athanor::nodes
