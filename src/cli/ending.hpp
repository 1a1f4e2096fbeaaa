// SPDX-License-Identifier: Apache-2.0
// Verbs that run until they are told to end.
#pragma once

#include <memory>

namespace athanor::cli {

// From its making on SIGINT and SIGTERM wait for wait(), in every thread made later; SIGPIPE is
// ignored. To be made while the program has one thread.
class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  // Blocks until one of the signals comes, and returns it.
  int wait();

 private:
  struct Mask;
  std::unique_ptr<Mask> mask_;
};

}  // namespace athanor::cli
