// SPDX-License-Identifier: Apache-2.0
#include "cli/session/reconnection.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output/terminal.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr int kGone = 410;

}  // namespace

bool is_passing(const Error& error) {
  constexpr int kNotImplemented = 501;
  return (error.code >= 500 && error.code != kNotImplemented) || error.code == 429 ||
         error.code == kGone;
}

void Reconnection::failed(const Error& error, Instant now) {
  why_ = error.message;
  if (!since_) {
    since_ = now;
    pause_ = kFirstPause;
    Terminal(STDERR_FILENO)
        .print(
            fmt::format("athanor: the API server is away ({}); {} goes on, trying again for {}\n",
                        why_, what_, format_age(patience_)));
  }
  next_ = now + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
}

bool Reconnection::is_final(const Error& error, Instant now) {
  if (error.code == kGone) {
    return false;
  }
  const bool starts = away() && (error.code == 401 || error.code == 403);
  if (!is_passing(error) && !starts) {
    return true;
  }
  failed(error, now);
  return false;
}

void Reconnection::answered() {
  if (since_) {
    since_.reset();
    next_ = {};
    Terminal(STDERR_FILENO).print("athanor: the API server is back\n");
  }
}

}  // namespace athanor::cli
