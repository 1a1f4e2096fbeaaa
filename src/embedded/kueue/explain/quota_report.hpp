// SPDX-License-Identifier: Apache-2.0
// The quota that a Workload needs, flavor by flavor: how much there is, who holds it, and why each
// of them is not preempted (docs/spec/kueue.md 17). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "embedded/kueue/cycle/candidates.hpp"
#include "embedded/kueue/cycle/preemption.hpp"

namespace athanor::kueue {

// Quota, use and largest holders of one flavor's resource.
struct QuotaReport {
  struct Holder {
    Key workload{};
    std::string cluster_queue{};
    std::int64_t priority = 0;
    std::string holds{};             // a quantity
    std::string owner{};             // "FournosJob/x"; empty: none
    std::optional<Instant> since{};  // when it was admitted
    std::string kept_for{};          // why it is not preempted; empty: it would be
  };
  std::string flavor{};
  std::string resource{};
  // Quantities: of the queue itself, what it uses, what it can still get, the part of this that it
  // borrows, the most it could ever get, what the Workload requests.
  std::string nominal{};
  std::string used{};
  std::string available{};
  std::string borrowable{};
  std::string capacity{};
  std::string wanted{};
  // Those who hold most of it within reach.
  std::vector<Holder> holders{};
};

// Returns a report for each flavor of the queue and each resource that is asked for. `quota` is
// with what is in use; `targets` are those who would be preempted.
std::vector<QuotaReport> quota_reports(const Snapshot& queues, QuotaTree& quota,
                                       HeldWorkloads& held, const Preemptor& preemptor,
                                       const Amounts& wanted, const std::vector<Target>& targets);

}  // namespace athanor::kueue
