// SPDX-License-Identifier: Apache-2.0
// Requests in a closed loop: as many under way as there are clients, each followed by the next.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "apiserver/http2_client.hpp"
#include "base/result.hpp"

namespace athanor::bench {

struct Load {
  std::size_t count = 1;    // requests
  std::size_t clients = 1;  // under way at a time, spread over the connections
  std::function<Query(std::size_t number)> query{};
};

struct Outcome {
  double seconds = 0;             // from the first request to the last answer
  std::vector<double> latency{};  // milliseconds, one a request, in order of the answers
  std::size_t bytes = 0;          // of all bodies
};

// An error when a request is answered with anything but 2xx, or stands still.
Result<Outcome> run_load(Http2Client& client, const Load& load);

// One request and its answer's body.
struct Answer {
  double milliseconds = 0;
  std::string body{};
};
Result<Answer> ask(Http2Client& client, const Query& query);

// The value below which `share` of them lie; 0 of none.
double quantile(std::vector<double> values, double share);

double milliseconds_since(Clock::time_point start);

}  // namespace athanor::bench
