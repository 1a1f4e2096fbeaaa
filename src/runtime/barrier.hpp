// SPDX-License-Identifier: Apache-2.0
// Barrier: tasks that wait for the caches to catch up with what they wrote or stumbled over
// (stack.md 9.3, rules 2 and 4).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "kube/kind.hpp"
#include "runtime/task.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Every call costs O(log n) and what it frees.
class Barrier {
 public:
  // Until the kind's watch has passed `version`.
  void wait_version(TaskId id, const Kind& kind, std::uint64_t version);
  // Until an event about this object arrives.
  void wait_change(TaskId id, const Ref& ref);
  // Until the kind has been listed anew.
  void wait_relist(TaskId id, const Kind& kind);
  [[nodiscard]] bool waits(TaskId id) const { return open_.contains(id); }
  // Kinds that `id` still waits for.
  [[nodiscard]] std::set<const Kind*, KindOrder> kinds(TaskId id) const;
  // Ends all waits of a task.
  void drop(TaskId id);

  // News; each returns the tasks that now wait for nothing more.
  std::vector<TaskId> passed(const Kind& kind, std::uint64_t version);
  std::vector<TaskId> changed(const Ref& ref);
  std::vector<TaskId> relisted(const Kind& kind);

 private:
  struct Open {
    std::map<const Kind*, std::uint64_t, KindOrder> versions{};
    std::set<Ref, RefOrder> changes{};
    std::set<const Kind*, KindOrder> relists{};
    [[nodiscard]] bool empty() const {
      return versions.empty() && changes.empty() && relists.empty();
    }
  };
  void close_if_empty(TaskId id, std::vector<TaskId>& freed);

  std::map<TaskId, Open> open_{};
  std::map<const Kind*, std::set<std::pair<std::uint64_t, TaskId>>, KindOrder> by_version_{};
  std::map<Ref, std::set<TaskId>, RefOrder> by_change_{};
  std::map<const Kind*, std::set<TaskId>, KindOrder> by_relist_{};
};

}  // namespace athanor::runtime
