// SPDX-License-Identifier: Apache-2.0
// Fair order: requests wait by user, and inside a user by connection; each in turn, so that one
// busy client costs the others one request's time and not its whole queue (docs/spec/apiserver.md
// 18). Without threads or clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_function.hpp"

namespace athanor::net {

// Whose request it is.
struct Flow {
  std::string user{};  // distinguishes credentials
  std::uint64_t connection = 0;
  bool mutating = false;
};

// Limits of a FairQueue, with its reading and mutating requests counted apart.
struct FairLimits {
  // More that wait or run than this: those above it may wait `patience` only.
  std::size_t reading = 400;
  std::size_t mutating = 200;
  std::chrono::milliseconds patience{1000};
  // How many of a user's requests run at a time while others wait.
  std::size_t running_for_one = 3;
};

// Waiting requests in fair order (docs/spec/apiserver.md 18). Not thread-safe.
class FairQueue {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `overdue`: it waited longer than it may, and is to be refused.
  using Task = UniqueFunction<void(bool overdue)>;
  struct Job {
    Task task{};
    Flow flow{};
    bool overdue = false;
  };

  explicit FairQueue(const FairLimits& limits) : limits_(limits) {}

  // Queues a task behind those of its flow.
  void push(Flow flow, Task task, Time now);
  // Returns the next job; nullopt: none may run now. Requires done() after each job.
  std::optional<Job> pop(Time now);
  void done(const Flow& flow);
  [[nodiscard]] bool empty() const { return turns_.empty(); }
  // Drops everything that waits.
  void clear();

 private:
  struct Item {
    Task task{};
    Flow flow{};
    Time since{};
    bool above_limit = false;
  };
  struct User {
    std::map<std::uint64_t, std::deque<Item>> waiting{};  // by connection
    std::deque<std::uint64_t> turns{};                    // connections that wait
    std::size_t running = 0;
  };
  Job take(User& user, Time now);
  std::size_t& count_of(const Flow& flow) { return flow.mutating ? mutating_ : reading_; }

  const FairLimits limits_;
  std::map<std::string, User, std::less<>> users_{};
  std::deque<std::string> turns_{};  // users that wait
  std::size_t reading_ = 0;          // waiting and running
  std::size_t mutating_ = 0;
};

}  // namespace athanor::net
