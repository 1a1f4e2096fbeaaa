// SPDX-License-Identifier: Apache-2.0
// Cancellation: work under way that is to end, since its time is over, its client is gone
// or the program ends.
//
// Loops whose length depends on input call give_up_if_cancelled(). Where the thread works
// in a CancellationScope whose Cancellation is over, that throws Cancelled; everywhere else it
// costs a decrement. Not to be called in noexcept functions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>

namespace athanor {

class Cancellation {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Reason : std::uint8_t {
    None,
    Overdue,  // the deadline has passed
    Gone,     // the client is gone
    Ending,   // the program ends
  };

  // Takes the flag `ending`, which all sharers see turn true when the program ends; may be null.
  explicit Cancellation(std::shared_ptr<const std::atomic<bool>> ending = {});

  // Cancels. The first reason stays. Thread-safe.
  void cancel(Reason reason) noexcept;
  // Sets the deadline; the last call counts. Thread-safe.
  void set_deadline(Time deadline) noexcept;
  [[nodiscard]] Reason reason() const noexcept;

 private:
  std::shared_ptr<const std::atomic<bool>> ending_;
  std::atomic<Reason> reason_{Reason::None};
  std::atomic<Time::rep> deadline_{Time::max().time_since_epoch().count()};
};

// What ends the work. The maker of a scope catches it.
class Cancelled : public std::exception {
 public:
  explicit Cancelled(Cancellation::Reason reason) : reason_(reason) {}
  [[nodiscard]] Cancellation::Reason reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override { return "cancelled"; }

 private:
  Cancellation::Reason reason_;
};

// While one lives, its thread works under that Cancellation; null: under none, for work that must
// not stay half done.
class CancellationScope {
 public:
  explicit CancellationScope(std::shared_ptr<Cancellation> cancellation);
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  ~CancellationScope();

  // Returns that of the thread's innermost scope; null without one.
  static std::shared_ptr<Cancellation> current();

 private:
  std::shared_ptr<Cancellation> before_;
};

namespace detail {
inline thread_local int loops_until_look = 0;
// Throws Cancelled if the thread's work is cancelled.
void look_for_cancellation();
}  // namespace detail

// Throws Cancelled if the thread's work is cancelled; looks once in many calls. For long loops.
inline void give_up_if_cancelled() {
  if (--detail::loops_until_look < 0) {
    detail::look_for_cancellation();
  }
}

}  // namespace athanor
