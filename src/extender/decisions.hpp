// SPDX-License-Identifier: Apache-2.0
// Decisions: the extender's verbs as functions of a View: the systems' scheduling hooks, asked as
// the lab's scheduler asks them (docs/spec/das.md 7.4). Writes nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "extender/room.hpp"
#include "extender/wire.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/scheduling.hpp"
#include "runtime/view/view.hpp"

namespace athanor::extender {

// Answers one question. Not thread-safe; `view` and `rooms` outlive it.
class Decisions {
 public:
  Decisions(const View& view, Instant now, std::span<const SchedulingHooks* const> hooks,
            const KeptRooms& rooms);

  // Passes a pod without concerned hooks on every node; for others, refuses nodes that are kept
  // from them.
  [[nodiscard]] FilterAnswer filter(const NodesQuestion& question);
  // Returns the mean of the hooks' scores, as points; 0 for an unknown node.
  [[nodiscard]] Points prioritize(const NodesQuestion& question);
  // Returns the nodes where the pod fits without these victims. Where they do not suffice, adds
  // pods of lower priority that concern the hooks, the least important first.
  [[nodiscard]] std::map<std::string, Victims> preempt(const PreemptQuestion& question);
  // Returns where the pod fits once pods of lower priority leave, among nodes that the hooks alone
  // refused, and where the least is lost. nullopt: nowhere, the pod may not preempt, or pods
  // that are leaving make room already.
  [[nodiscard]] std::optional<Room> make_room(const Object& pod,
                                              std::span<const std::string> nodes);
  // Returns the steps required before the pod is bound to the node; done() without a concerned
  // hook. Errors: the reason why it may not be there.
  [[nodiscard]] Result<Plan> reserve(const Object& pod, const Object& node);

 private:
  using Sessions = std::vector<SchedulingSession*>;
  [[nodiscard]] Sessions concerned(const Object& pod) const;
  [[nodiscard]] std::optional<Object> node_of(const NodesQuestion& question,
                                              const std::string& name) const;
  [[nodiscard]] static std::optional<HookRefusal> refusal(
      const Sessions& sessions, const Object& pod, const Object& node,
      std::span<const std::string_view> leaving = {});
  [[nodiscard]] std::optional<Victims> victims_on(const Sessions& sessions, const Object& pod,
                                                  const Object& node, Victims given) const;

  // Refuses a node that is kept for another pod.
  [[nodiscard]] std::optional<HookRefusal> kept_refusal(const Object& pod,
                                                        std::string_view node) const;

  const View& view_;
  const KeptRooms& rooms_;
  std::vector<std::unique_ptr<SchedulingSession>> sessions_{};
};

// Returns the step that binds a pod.
Step binding_of(const Object& pod, std::string_view node);

}  // namespace athanor::extender
