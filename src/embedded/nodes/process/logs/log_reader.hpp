// SPDX-License-Identifier: Apache-2.0
// The thread that reads logs from the disk, for all streams in turns: a block of one, then a block
// of the next.
#pragma once

#include <memory>

namespace athanor::nodes {

// Owns the thread.
class LogReader {
 public:
  class Job {
   public:
    virtual ~Job() = default;
    // Reads a block. True: there is more to read at once.
    virtual bool read_block() = 0;
  };

  LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;
  ~LogReader();  // ends the thread; what was added is dropped

  // From any thread, also after the reader is gone (nothing happens then).
  class Queue;
  [[nodiscard]] const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  struct Thread;
  std::shared_ptr<Queue> queue_;
  std::unique_ptr<Thread> thread_;
};

// What streams keep of the reader.
class LogReader::Queue {
 public:
  Queue();
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Reads a block of it when its turn comes.
  void add(std::weak_ptr<Job> job);

 private:
  friend class LogReader;
  struct State;
  void run();
  void stop();
  std::unique_ptr<State> state_;
};

}  // namespace athanor::nodes
