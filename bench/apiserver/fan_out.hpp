// SPDX-License-Identifier: Apache-2.0
// How long a change takes to reach everybody who watches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apiserver/http2_client.hpp"
#include "base/result.hpp"

namespace athanor::bench {

struct FanOut {
  std::size_t watchers = 1;
  std::size_t writes = 1;
  double writes_per_second = 50;
  std::string ns{};  // holds object 0; no other client writes there
};

struct Arrivals {
  std::vector<double> latency{};  // milliseconds from sending the patch, one a watcher and write
  double seconds = 0;
};

// An error when an event stays away.
Result<Arrivals> run_fan_out(Http2Client& client, const FanOut& options);

// How many connections give each watcher a stream of its own at a server that allows the usual 100.
std::size_t connections_for(std::size_t watchers);

}  // namespace athanor::bench
