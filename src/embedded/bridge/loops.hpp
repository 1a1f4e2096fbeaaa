// SPDX-License-Identifier: Apache-2.0
// Loops: the API server's own control loops (garbage collection, namespace deletion, quotas) as
// one thing to drive.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "embedded/apiserver/server.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {
class ControlLoop;
}

namespace athanor::bridge {

// One thread. Looks at everything stored when made.
class Loops {
 public:
  Loops(store::Store& store, apiserver::Server& server);
  ~Loops();
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  void feed(std::span<const store::EventPtr> events);
  // Whether run() has something to do at `now`.
  [[nodiscard]] bool due(Instant now) const;
  // When run() is due by itself; nullopt: only after the next feed().
  [[nodiscard]] std::optional<Instant> next_due() const { return again_; }
  void run(Instant now);

 private:
  std::vector<std::unique_ptr<apiserver::ControlLoop>> loops_{};
  bool fed_ = true;
  std::optional<Instant> again_{};
};

}  // namespace athanor::bridge
