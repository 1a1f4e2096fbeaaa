// SPDX-License-Identifier: Apache-2.0
#include "base/cancellation.hpp"

#include <utility>

namespace athanor {
namespace {

// Loops between two looks at the clock: some microseconds of work.
constexpr int kLoopsPerLook = 64;

thread_local std::shared_ptr<Cancellation> innermost;

}  // namespace

Cancellation::Cancellation(std::shared_ptr<const std::atomic<bool>> ending)
    : ending_(std::move(ending)) {}

void Cancellation::cancel(Reason reason) noexcept {
  Reason none = Reason::None;
  reason_.compare_exchange_strong(none, reason);
}

void Cancellation::set_deadline(Time deadline) noexcept {
  deadline_ = deadline.time_since_epoch().count();
}

Cancellation::Reason Cancellation::reason() const noexcept {
  if (const Reason said = reason_.load(std::memory_order_relaxed); said != Reason::None) {
    return said;
  }
  if (ending_ != nullptr && ending_->load(std::memory_order_relaxed)) {
    return Reason::Ending;
  }
  const Time::rep deadline = deadline_.load(std::memory_order_relaxed);
  return deadline != Time::max().time_since_epoch().count() &&
                 std::chrono::steady_clock::now().time_since_epoch().count() > deadline
             ? Reason::Overdue
             : Reason::None;
}

CancellationScope::CancellationScope(std::shared_ptr<Cancellation> cancellation)
    : before_(std::exchange(innermost, std::move(cancellation))) {}

CancellationScope::~CancellationScope() {
  innermost = std::move(before_);
}

std::shared_ptr<Cancellation> CancellationScope::current() {
  return innermost;
}

void detail::look_for_cancellation() {
  loops_until_look = kLoopsPerLook;
  if (innermost == nullptr) {
    return;
  }
  if (const Cancellation::Reason reason = innermost->reason();
      reason != Cancellation::Reason::None) {
    loops_until_look = 0;  // work that continues all the same is cancelled again
    throw Cancelled(reason);
  }
}

}  // namespace athanor
