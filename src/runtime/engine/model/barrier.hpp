// SPDX-License-Identifier: Apache-2.0
// Barrier: tasks that wait for the caches to catch up with what they wrote or stumbled over
// (docs/engine.md 2, rules 2 and 4).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/kind.hpp"
#include "runtime/engine/model/task.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

// One watch: of a kind everywhere (no namespace), or in one namespace.
struct Watched {
  const Kind* kind = nullptr;
  std::string ns{};
};
struct WatchedOrder {
  bool operator()(const Watched& a, const Watched& b) const {
    const KindOrder order;
    return order(a.kind, b.kind) || (!order(b.kind, a.kind) && a.ns < b.ns);
  }
};

// The version of an object that is gone.
inline constexpr std::uint64_t kGone = std::numeric_limits<std::uint64_t>::max();

// Not thread-safe: the engine owns it. Every call costs O(log n) and what it frees.
class Barrier {
 public:
  // Waits until the watch has passed `version`.
  void wait_version(TaskId id, const Watched& watch, std::uint64_t version);
  // Waits until the watch shows this object in a version after `after`, or shows that it is gone.
  void wait_change(TaskId id, const Ref& ref, std::uint64_t after);
  // Waits until what is watched has been listed anew.
  void wait_relist(TaskId id, const Watched& watch);
  [[nodiscard]] bool waits(TaskId id) const { return open_.contains(id); }
  // Returns true if a task waits for a change of this object.
  [[nodiscard]] bool awaits(const Ref& ref) const { return by_change_.contains(ref); }
  // Returns the versions and lists that `id` still waits for; objects() returns the objects.
  [[nodiscard]] std::set<Watched, WatchedOrder> watches(TaskId id) const;
  [[nodiscard]] std::set<Ref, RefOrder> objects(TaskId id) const;
  // Returns the versions alone.
  [[nodiscard]] std::map<Watched, std::uint64_t, WatchedOrder> versions(TaskId id) const;
  // Ends all waits of a task.
  void drop(TaskId id);

  // Takes news, like all below; returns the tasks that now wait for nothing more.
  std::vector<TaskId> passed(const Watched& watch, std::uint64_t version);
  // Takes the version in which the object was seen; gone: the greatest number.
  std::vector<TaskId> changed(const Ref& ref, std::uint64_t version);
  // Ends the waits for single objects by a list, whether it shows a change or not.
  std::vector<TaskId> listed(const Watched& watch);
  std::vector<TaskId> relisted(const Watched& watch);

 private:
  struct Open {
    std::map<Watched, std::uint64_t, WatchedOrder> versions{};
    std::map<Ref, std::uint64_t, RefOrder> changes{};
    std::set<Watched, WatchedOrder> relists{};
    [[nodiscard]] bool empty() const {
      return versions.empty() && changes.empty() && relists.empty();
    }
  };
  void close_if_empty(TaskId id, std::vector<TaskId>& freed);

  std::map<TaskId, Open> open_{};
  std::map<Watched, std::set<std::pair<std::uint64_t, TaskId>>, WatchedOrder> by_version_{};
  std::map<Ref, std::set<TaskId>, RefOrder> by_change_{};
  std::map<Watched, std::set<TaskId>, WatchedOrder> by_relist_{};
};

}  // namespace athanor::runtime
