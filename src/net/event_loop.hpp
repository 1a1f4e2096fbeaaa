// SPDX-License-Identifier: Apache-2.0
// One thread that waits for many descriptors: Asio's io_context behind three small classes, so that
// Asio is compiled once.
#pragma once

#include <chrono>
#include <memory>

#include "base/unique_function.hpp"

namespace athanor::net {

// Runs tasks, and what waits for descriptors, on one thread. post() and stop() are thread-safe.
class EventLoop {
 public:
  using Task = UniqueFunction<void()>;

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // Runs `task` on the loop's thread; from any thread. Dropped once close() was called.
  void post(Task task);
  // Runs tasks on the calling thread until stop(). A broken invariant in one ends that task.
  void run();
  // Stops run(). Thread-safe.
  void stop();
  // Drops everything that still waits and everything to come. Requires that run() returned.
  void close();

  // A descriptor that is waited for; owned, and closed with this. For the loop's thread.
  class Descriptor {
   public:
    Descriptor(EventLoop& loop, int fd);
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();

    // Runs the task once when the descriptor is ready, or never when it is closed before. At most
    // one task a direction waits.
    void when_readable(Task task);
    void when_writable(Task task);
    // Closes the descriptor. A task that became ready just before may still run.
    void close();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  // For the loop's thread.
  class Timer {
   public:
    explicit Timer(EventLoop& loop);
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer();
    // Replaces what was set before.
    void set(std::chrono::milliseconds after, Task task);
    void cancel();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::net
