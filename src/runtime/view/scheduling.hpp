// SPDX-License-Identifier: Apache-2.0
// SchedulerPlugin: what a system adds to a scheduler: pure functions that filter and score nodes
// for a pod and reserve what the pod takes there. The lab's scheduler and `athanor extender` call
// the same functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// One node as a plug-in sees it. `placed`: pods that this scheduling cycle gave the node and that
// the view does not show there yet.
struct SchedulerNode {
  const Object& node;
  std::span<const Object> placed{};
};

// Every function is optional.
struct SchedulerPlugin {
  std::string_view name{};
  // Kinds that the functions read and that reserve() writes.
  std::span<const Kind* const> reads{};
  std::span<const Kind* const> writes{};
  // Returns true where the pods of this scheduler name are scheduled with the plug-in. Pods of
  // "default-scheduler" need no plug-in that serves it.
  bool (*serves)(const View& view, std::string_view scheduler_name) = nullptr;
  // Returns true where the other functions apply to this pod.
  bool (*wants)(const View& view, const Object& pod) = nullptr;
  // Returns why the pod may not run on the node: the error's message is the reason that
  // kube-scheduler counts ("1 cannot align container").
  Result<void> (*filter)(const View& view, const Object& pod, const SchedulerNode& node,
                         Instant now) = nullptr;
  // Returns 0 to 100; the higher, the better.
  std::int64_t (*score)(const View& view, const Object& pod, const SchedulerNode& node,
                        Instant now) = nullptr;
  // Returns the steps that come before the binding. An error of the plan keeps the pod pending.
  Plan (*reserve)(const View& view, const Object& pod, const SchedulerNode& node,
                  Instant now) = nullptr;
};

}  // namespace athanor
