// SPDX-License-Identifier: Apache-2.0
// PollLoop: descriptors and deadlines of one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/mutex.hpp"
#include "base/time.hpp"

namespace athanor::nodes {

// Not thread-safe, but for post() and stop(). The owner runs it on one thread; handlers are called
// there and may add and remove.
class PollLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  PollLoop();
  PollLoop(const PollLoop&) = delete;
  PollLoop& operator=(const PollLoop&) = delete;
  ~PollLoop();

  // Calls `handler` for `events` (EPOLLIN and so on) of a descriptor, which stays the caller's.
  void add(int file, std::uint32_t events, Handler handler);
  void change(int file, std::uint32_t events);
  void remove(int file);
  // Calls `work` once, after `milliseconds`.
  void after(std::int64_t milliseconds, std::function<void()> work);
  // Runs until stop().
  void run();
  // Runs `work` on the loop's thread. From any thread.
  void post(std::function<void()> work);
  void stop();
  // Returns the time of a clock that only goes forward, in milliseconds.
  static std::int64_t now_ms();

 private:
  int wait_ms() const;
  void run_posted();

  Descriptor poll_{};
  Descriptor wake_{};
  std::map<int, std::shared_ptr<Handler>> handlers_{};
  std::multimap<std::int64_t, std::function<void()>> timers_{};
  Mutex mutex_{};
  std::vector<std::function<void()>> posted_ ATHANOR_GUARDED_BY(mutex_){};
  bool stopped_ ATHANOR_GUARDED_BY(mutex_) = false;
};

}  // namespace athanor::nodes
