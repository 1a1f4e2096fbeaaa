// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while something is followed: the verb ends in its own words.
#pragma once

namespace athanor {

// While it lives, the first SIGINT or SIGTERM is noted; the second one ends the program as ever.
// One at a time.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] bool came() const;
};

}  // namespace athanor
