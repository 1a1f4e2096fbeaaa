// SPDX-License-Identifier: Apache-2.0
// Room: preemption where only the hooks refuse a pod. kube-scheduler tries without them which pods
// would have to leave; it finds none there, and does not ask the extender.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/step.hpp"
#include "runtime/view/view.hpp"

namespace athanor::extender {

// A node, and the pods that have to leave it.
struct Room {
  std::string node{};
  std::vector<Object> victims{};
};

// Nodes where room was made, each kept for its pod until that is bound: what its victims free would
// else go to a pod that is tried first. Not thread-safe.
class KeptRooms {
 public:
  // Keeps the room until the victims must be gone, and a little longer.
  void keep(const Object& pod, const Room& room, Instant now);
  void drop(std::string_view pod_uid);
  // Forgets rooms of pods that are bound or gone, and those whose time is over.
  void settle(const View& view, Instant now);
  // Returns the pod for which the node is kept, of the same or a higher priority than this one;
  // nullopt: for none.
  [[nodiscard]] std::optional<Key> kept_from(const Object& pod, std::string_view node) const;

 private:
  struct Kept {
    Object pod{};
    std::string node{};
    Instant until{};
  };
  std::map<std::string, Kept, std::less<>> by_uid_{};
};

// Returns true if less is lost by `a` than by `b`: the lowest of the highest priorities of the
// victims, then their sum, then their number.
bool costs_less(const Room& a, const Room& b);
// Returns what kube-scheduler writes of a victim: condition DisruptionTarget, the deletion, and the
// event Preempted.
std::vector<Step> eviction_steps(const Object& victim, const Object& preemptor,
                                 std::string_view node, Instant now);

}  // namespace athanor::extender
