// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/logs/log_reader.hpp"

#include <deque>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"

namespace athanor::nodes {

struct LogReader::Queue::State {
  Mutex mutex{};
  ConditionVariable news{};
  std::deque<std::weak_ptr<Job>> jobs ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
};

struct LogReader::Thread {
  std::thread thread{};
};

LogReader::Queue::Queue() : state_(std::make_unique<State>()) {}

LogReader::Queue::~Queue() = default;

void LogReader::Queue::add(std::weak_ptr<Job> job) {
  const MutexLock lock(state_->mutex);
  if (!state_->stopping) {
    state_->jobs.push_back(std::move(job));
    state_->news.notify_one();
  }
}

void LogReader::Queue::run() {
  MutexLock lock(state_->mutex);
  while (true) {
    state_->news.wait(lock, [this]() ATHANOR_REQUIRES(state_->mutex) {
      return state_->stopping || !state_->jobs.empty();
    });
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
  const MutexLock lock(state_->mutex);
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
