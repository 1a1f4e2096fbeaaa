// SPDX-License-Identifier: Apache-2.0
// Feed: many reflectors on one ApiClient. Lists, watches and decodes on the client's thread, and
// hands what came to a sink in batches.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "client/api_client.hpp"
#include "client/reflector.hpp"

namespace athanor::client {

// Limits of a Feed.
struct FeedOptions {
  ReflectorOptions reflector{};
  Lane lane = Lane::Urgent;                         // of its lists and watches
  Duration list_timeout = std::chrono::minutes(1);  // of one chunk
  std::size_t concurrent_lists = 8;  // the rest waits its turn: bounds memory at the start
  // Slots of the table of parts that objects share, 32 bytes each. With 100,000 objects fewer slots
  // forget parts before they come again.
  std::size_t shared_parts = std::size_t{1} << 16;
};

// Thread-safe.
class Feed {
 public:
  // Called on the client's thread, in order; must not block.
  using Sink = std::function<void(std::vector<FeedItem> batch)>;

  // Takes one scope a kind. Requires that `clock` and `entropy` outlive it.
  Feed(std::shared_ptr<ApiClient> client, std::vector<FeedScope> scopes, Sink sink,
       const Clock& clock, Entropy& entropy, FeedOptions options = {});
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed();  // stops

  void start();
  // Lists this kind anew, from the newest state (a live read); a KindList follows.
  void relist(const Kind& kind);
  // Stops: no call of the sink begins after it returns. Must not be called from the sink.
  void stop();

  // Returns true once every kind has been listed or refused for good.
  [[nodiscard]] bool synced() const;
  // Returns the status by kind, in the order of the scopes.
  [[nodiscard]] std::vector<std::pair<const Kind*, ReflectorStatus>> status() const;

 private:
  struct State;
  std::shared_ptr<ApiClient> client_;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::client
