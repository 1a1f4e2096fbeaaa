// SPDX-License-Identifier: Apache-2.0
// What the load drivers have in common: the lab of $KUBECONFIG, its watches, quantiles.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.hpp"
#include "kube/value/value.hpp"

namespace athanor::bench {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);
// Ends the program.
[[noreturn]] void give_up(const std::string& why);
std::unique_ptr<client::Connection> connect();
// Asks, and ends the program on an error.
Value ask(client::Connection& connection, const client::Call& call);
double quantile(std::vector<double> values, double share);

// Follows one collection; calls `seen` with each changed object.
class Watch {
 public:
  using Seen = std::function<void(std::string_view type, const Value& object)>;
  Watch(client::Connection& connection, const std::string& path, Seen seen);

  // Runs the connection until `done`; ends the program when that takes longer than `limit`.
  void until(const std::function<bool()>& done, Clock::duration limit);
  // Runs the connection for so long.
  void follow(Clock::duration time);

 private:
  client::Connection& connection_;
  Seen seen_;
  std::shared_ptr<void> handle_;
};

}  // namespace athanor::bench
