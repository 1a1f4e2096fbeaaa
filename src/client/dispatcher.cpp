// SPDX-License-Identifier: Apache-2.0
#include "client/dispatcher.hpp"

#include <algorithm>
#include <cmath>

namespace athanor::client {

double TokenBucket::tokens_at(SteadyTime now) const {
  if (!counted_at_ || now <= *counted_at_) {
    return tokens_;
  }
  const double seconds = std::chrono::duration<double>(now - *counted_at_).count();
  return std::min(burst_, tokens_ + seconds * qps_);
}

bool TokenBucket::take(SteadyTime now) {
  if (qps_ <= 0) {
    return true;
  }
  tokens_ = tokens_at(now);
  counted_at_ = std::max(now, counted_at_.value_or(now));
  if (tokens_ < 1) {
    return false;
  }
  tokens_ -= 1;
  return true;
}

void TokenBucket::give_back() {
  tokens_ = std::min(burst_, tokens_ + 1);
}

SteadyTime TokenBucket::ready_at(SteadyTime now) const {
  if (qps_ <= 0 || tokens_at(now) >= 1) {
    return now;
  }
  const double missing = (1 - tokens_at(now)) / qps_;
  // Rounded up, as being early would mean to wait once more.
  return now + std::chrono::microseconds(static_cast<std::int64_t>(std::ceil(missing * 1e6)) + 1);
}

bool Dispatcher::add(Lane lane, std::uint64_t id) {
  if (lane != Lane::Lease && queued_ >= options_.max_queued) {
    return false;
  }
  lanes_[index(lane)].push_back(id);
  ++queued_;
  return true;
}

std::optional<Turn> Dispatcher::next(SteadyTime now) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    auto& waiting = lanes_[lane];
    if (waiting.empty()) {
      continue;
    }
    if (lane != index(Lane::Lease)) {
      if (in_flight_ >= options_.max_in_flight || !bucket_.take(now)) {
        return std::nullopt;
      }
      ++in_flight_;
    }
    const std::uint64_t id = waiting.front();
    waiting.pop_front();
    --queued_;
    return Turn{.lane = static_cast<Lane>(lane), .id = id};
  }
  return std::nullopt;
}

void Dispatcher::ended(Lane lane) {
  if (lane != Lane::Lease) {
    --in_flight_;
  }
}

void Dispatcher::skipped(Lane lane) {
  if (lane != Lane::Lease) {
    --in_flight_;
    bucket_.give_back();
  }
}

std::optional<SteadyTime> Dispatcher::next_at(SteadyTime now) const {
  if (!lanes_[index(Lane::Lease)].empty()) {
    return now;
  }
  if (queued_ == 0 || in_flight_ >= options_.max_in_flight) {
    return std::nullopt;
  }
  return bucket_.ready_at(now);
}

}  // namespace athanor::client
