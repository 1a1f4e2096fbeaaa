// SPDX-License-Identifier: Apache-2.0
// Loops: the API server's own control loops (garbage collection, namespace deletion, quotas) as
// one thing to drive.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {
class ControlLoop;
}

namespace athanor::bridge {

// The names of the loops, those of kube-controller-manager.
inline constexpr std::string_view kLoopNames[] = {
    "garbage-collector-controller", "namespace-controller", "resourcequota-controller",
    "validatingadmissionpolicy-status-controller"};

// One thread. Looks at everything stored when made.
class Loops {
 public:
  // Takes `runs`: which of kLoopNames; empty: all.
  Loops(store::Store& store, apiserver::Server& server,
        const std::function<bool(std::string_view)>& runs = {});
  ~Loops();
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  void feed(std::span<const store::EventPtr> events);
  // Returns true if run() has something to do at `now`.
  [[nodiscard]] bool due(Instant now) const;
  // Returns when run() is due by itself; nullopt: only after the next feed().
  [[nodiscard]] std::optional<Instant> next_due() const { return again_; }
  void run(Instant now);

 private:
  std::vector<std::unique_ptr<apiserver::ControlLoop>> loops_{};
  bool fed_ = true;
  std::optional<Instant> again_{};
};

}  // namespace athanor::bridge
