// SPDX-License-Identifier: Apache-2.0
// Driving the control loops.
#include "embedded/bridge/loops.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "embedded/apiserver/loops/control_loop.hpp"

namespace athanor::bridge {

Loops::Loops(store::Store& store, apiserver::Server& server,
             const std::function<bool(std::string_view)>& runs) {
  using Make = std::unique_ptr<apiserver::ControlLoop> (*)(const apiserver::LoopContext&);
  constexpr std::array<Make, std::size(kLoopNames)> kMakers = {
      apiserver::make_garbage_collector, apiserver::make_namespace_controller,
      apiserver::make_quota_controller, apiserver::make_policy_controller};
  const apiserver::LoopContext context{
      .store = store, .server = server, .registry = server.registry()};
  for (std::size_t i = 0; i < kMakers.size(); ++i) {
    if (!runs || runs(kLoopNames[i])) {
      loops_.push_back(kMakers[i](context));
    }
  }
  for (const auto& loop : loops_) {
    loop->start();
  }
}

Loops::~Loops() = default;

void Loops::feed(std::span<const store::EventPtr> events) {
  if (events.empty()) {
    return;
  }
  for (const auto& loop : loops_) {
    loop->feed(events);
  }
  fed_ = true;
}

bool Loops::due(Instant now) const {
  return fed_ || (again_ && *again_ <= now);
}

void Loops::run(Instant now) {
  fed_ = false;
  again_.reset();
  for (const auto& loop : loops_) {
    if (const auto next = loop->run(now)) {
      again_ = again_ ? std::min(*again_, *next) : *next;
    }
  }
}

}  // namespace athanor::bridge
