// SPDX-License-Identifier: Apache-2.0
// Verbs that run until a signal ends them.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "base/time.hpp"

namespace athanor::cli {

// From its making on SIGINT and SIGTERM wait for wait(), in every thread made later; SIGPIPE is
// ignored. To be made while the program has one thread.
class EndSignals {
 public:
  // Takes `more`: other signals that wait() and wait_for() return.
  EndSignals(std::initializer_list<int> more = {});
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  // Blocks until one of the signals comes, and returns it.
  int wait();
  // Blocks likewise, for at most `patience`; nullopt: none came.
  std::optional<int> wait_for(Duration patience);
  // Lets the next SIGINT or SIGTERM end the program at once, with exit code 1, unless it comes
  // within half a second: `timeout` sends its signal twice. To be called in the thread that waited.
  void end_at_next();

 private:
  struct Mask;
  std::unique_ptr<Mask> mask_;
};

// Ends the program, whatever still runs, when `patience` is over before this is gone: to be made
// once the program got the signal to end. What was acknowledged is on the disk by then, and the
// spawner ends the pods.
class EndGuard {
 public:
  explicit EndGuard(Duration patience);
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;
  ~EndGuard();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::cli
