// SPDX-License-Identifier: Apache-2.0
// The scheduler of the embedded control plane: gives pending pods a node, in the manner (and with
// the words) of kube-scheduler.
#pragma once

#include <span>
#include <vector>

#include "runtime/view/operator.hpp"
#include "runtime/view/scheduling.hpp"

namespace athanor::scheduler {

// Binds pods without a node, without gates, of `default-scheduler`: by priority, then age, then
// name. One run binds many; it looks at nothing but nodes when no pod waits. Filters: taints, node
// affinity, resources, topology spread, pod affinity and anti-affinity. A pod that fits nowhere
// preempts pods of lower priority.
const Operator& scheduler_operator();

// Does one cycle with what systems add to it. Schedules pods of schedulers that hooks name, too.
Plan schedule(const View& view, Instant now, std::span<const SchedulingHooks* const> hooks);

// The scheduler with hooks. An operator is a plain function, so whatever puts it together gives one
// that calls schedule() with these hooks. Owns the lists that the operator names.
class HookedScheduler {
 public:
  HookedScheduler(std::span<const SchedulingHooks* const> hooks,
                  Plan (*reconcile)(const View& view, const Key& key, Instant now));
  HookedScheduler(const HookedScheduler&) = delete;  // the operator points into it
  HookedScheduler& operator=(const HookedScheduler&) = delete;
  [[nodiscard]] const Operator& get() const { return operator_; }

 private:
  std::vector<const Kind*> reads_{};
  std::vector<const Kind*> writes_{};
  std::vector<const Kind*> small_{};
  std::vector<Index> indexes_{};
  Operator operator_{};
};

}  // namespace athanor::scheduler
