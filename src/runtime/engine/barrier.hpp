// SPDX-License-Identifier: Apache-2.0
// Barrier: tasks that wait for the caches to catch up with what they wrote or stumbled over
// (docs/engine.md 2, rules 2 and 4).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/kind.hpp"
#include "runtime/engine/task.hpp"
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

// Not thread-safe: the engine owns it. Every call costs O(log n) and what it frees.
class Barrier {
 public:
  // Until the watch has passed `version`.
  void wait_version(TaskId id, const Watched& watch, std::uint64_t version);
  // Until an event about this object arrives.
  void wait_change(TaskId id, const Ref& ref);
  // Until what is watched has been listed anew.
  void wait_relist(TaskId id, const Watched& watch);
  [[nodiscard]] bool waits(TaskId id) const { return open_.contains(id); }
  // The versions and lists that `id` still waits for, and the objects.
  [[nodiscard]] std::set<Watched, WatchedOrder> watches(TaskId id) const;
  [[nodiscard]] std::set<Ref, RefOrder> objects(TaskId id) const;
  // Ends all waits of a task.
  void drop(TaskId id);

  // News; each returns the tasks that now wait for nothing more.
  std::vector<TaskId> passed(const Watched& watch, std::uint64_t version);
  std::vector<TaskId> changed(const Ref& ref);
  std::vector<TaskId> relisted(const Watched& watch);

 private:
  struct Open {
    std::map<Watched, std::uint64_t, WatchedOrder> versions{};
    std::set<Ref, RefOrder> changes{};
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
