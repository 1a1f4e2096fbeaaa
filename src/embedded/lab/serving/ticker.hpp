// SPDX-License-Identifier: Apache-2.0
// Ticker: the thread that gives the server its tick (spec: what the server owes to time alone).
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"

namespace athanor::lab {

// Calls Server::tick() from its own thread.
class Ticker {
 public:
  // Requires that both outlive it. Runs `also` after each tick, on the ticker's thread.
  Ticker(apiserver::Server& server, const Clock& clock, std::function<void(Instant)> also = {});
  ~Ticker();  // stops
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::lab
