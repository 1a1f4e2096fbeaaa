// SPDX-License-Identifier: Apache-2.0
// A system's part in the scheduler: pure functions over the View, as kube-scheduler's plug-ins
// are (filter, score, reserve). The scheduler knows no system by name: it is handed a list of
// these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/instruments.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Why a hook refuses a node for a pod.
struct HookRefusal {
  std::string reason{};   // as the pod's condition shows it
  bool for_good = false;  // preempting pods of the node would not help
};

// One scheduling cycle. Remembers what it reserved, so that several pods of one cycle never get the
// same thing.
class SchedulingSession {
 public:
  virtual ~SchedulingSession() = default;
  // Returns true if the hooks have a say about this pod; the others are called for such pods only.
  [[nodiscard]] virtual bool concerns(const Object& pod) = 0;
  // Returns why no node will do; nullopt: some may.
  [[nodiscard]] virtual std::optional<std::string> refuse(const Object& /*pod*/) {
    return std::nullopt;
  }
  // Returns true if the pod waits for steps of this cycle to be seen first.
  [[nodiscard]] virtual bool defers(const Object& /*pod*/) { return false; }
  // Resources that the pod asks for and that a node need not report: filter() judges them there.
  [[nodiscard]] virtual std::vector<std::string> covers(const Object& /*pod*/) { return {}; }
  // Returns why the pod may not be on the node; nullopt: it may. Called when every other filter
  // passed. `leaving`: uids of pods that count as gone.
  [[nodiscard]] virtual std::optional<HookRefusal> filter(
      const Object& pod, const Object& node, std::span<const std::string_view> leaving) = 0;
  // Scores a node that passed the filter; the higher, the better, 0 to 100.
  [[nodiscard]] virtual std::int64_t score(const Object& pod, const Object& node) = 0;
  // Reserves on the chosen node. The steps are carried out before the pod is bound, in this order;
  // when one fails the pod is not bound.
  [[nodiscard]] virtual Plan reserve(const Object& pod, const Object& node) = 0;
  // Gives back what an earlier attempt reserved for a pod that now fits nowhere.
  [[nodiscard]] virtual Plan release(const Object& /*pod*/) { return Plan::done(); }
};

// Filter, score and reserve of a system, for the lab's scheduler and the extender.
struct SchedulingHooks {
  std::string_view name{};
  // Values of spec.schedulerName whose pods are scheduled because of these hooks.
  std::span<const std::string_view> schedulers{};
  std::span<const Kind* const> reads{};
  std::span<const Kind* const> writes{};
  std::span<const Index> indexes{};
  std::span<const Kind* const> small{};
  std::unique_ptr<SchedulingSession> (*begin)(const View& view, Instant now) = nullptr;
  // Returns further values for `schedulers`, where objects name them; nullptr: none.
  std::vector<std::string> (*profiles)(const View& view) = nullptr;
  // Returns extended resources, one of which every pod that concerns the hooks asks for; nullptr:
  // other pods may concern them.
  std::vector<std::string> (*resources)() = nullptr;
  // Run beside the hooks where a stock scheduler asks them.
  std::span<const Operator* const> beside{};
  // For the process that schedules; may be null.
  const Instruments* instruments = nullptr;
};

}  // namespace athanor
