// SPDX-License-Identifier: Apache-2.0
// Relay: copies bytes between two connections until both directions have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "embedded/nodes/network/poll_loop.hpp"

namespace athanor::nodes {

// Of its loop's thread.
class Relay {
 public:
  // Begins to copy; `to` may still be connecting. `over` is called once, at the end; it may destroy
  // the relay.
  Relay(PollLoop& loop, Descriptor from, Descriptor to, std::function<void()> over);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

 private:
  struct Side {
    Descriptor file{};
    std::string pending{};    // to be sent to it
    bool read_over = false;   // nothing more comes from it
    bool wrote_over = false;  // its writing end is closed
    std::uint32_t events = 0;
  };

  void turn(Side& side, Side& other, std::uint32_t events);
  // Returns false if the connection broke.
  static bool read_from(Side& side, Side& other);
  static bool write_to(Side& side, const Side& other);
  void watch(Side& side, const Side& other);

  PollLoop& loop_;
  Side from_{};
  Side to_{};
  std::function<void()> over_;
};

}  // namespace athanor::nodes
