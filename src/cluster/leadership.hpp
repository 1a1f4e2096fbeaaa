// SPDX-License-Identifier: Apache-2.0
// Leadership: the Elector on an API server and a steady clock. Runs on the client's thread and its
// lease lane, so that neither a long reconcile nor a rate limit delays a renewal.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "client/api_client.hpp"
#include "runtime/engine/elector.hpp"

namespace athanor::cluster {

// Called on the client's thread; must not block.
struct LeadershipListeners {
  std::function<void()> won{};
  std::function<void(const std::string& why)> lost{};
};

// Thread-safe.
class Leadership {
 public:
  // Takes the wall's `clock`, only to write it down. Requires that `client` and `clock` outlive it.
  Leadership(std::shared_ptr<client::ApiClient> client, const runtime::ElectorOptions& options,
             const Clock& clock, LeadershipListeners listeners);
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;
  ~Leadership();

  void start();
  [[nodiscard]] bool leading() const;
  // Returns how long a write sent now may stay under way: it ends before another replica can lead.
  // Zero: it must not be sent. Costs one atomic read.
  [[nodiscard]] Duration write_time() const;
  // Gives the lease back, or stops trying; waits for the answer for at most `patience`. To be
  // called after the last write was answered.
  void release(Duration patience);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::cluster
