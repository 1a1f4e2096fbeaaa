// SPDX-License-Identifier: Apache-2.0
// Quota and use of a ClusterQueue, by flavor and resource. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "kube/text/quantity.hpp"
#include "kube/value/object.hpp"

namespace athanor::console {

// Quantities of one flavor's resource.
struct QuotaUse {
  Quantity nominal{};
  Quantity used{};
  Quantity reserved{};
  Quantity borrowed{};
};
// Quotas and their uses, keyed by flavor and resource.
using QuotaUses = std::map<std::pair<std::string, std::string>, QuotaUse>;

// Returns the quota in the spec of a ClusterQueue beside the use in its status.
QuotaUses uses_of_queue(const Object& queue);
// Adds the quantities of one queue to those of others.
void add_uses(QuotaUses& sums, const QuotaUses& uses);

}  // namespace athanor::console
