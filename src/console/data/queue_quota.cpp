// SPDX-License-Identifier: Apache-2.0
#include "console/data/queue_quota.hpp"

namespace athanor::console {
namespace {

Quantity quantity_in(const Value& value) {
  return Quantity::parse(value).value_or(Quantity());
}

}  // namespace

QuotaUses uses_of_queue(const Object& queue) {
  QuotaUses uses;
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      for (const Value& resource : flavor["resources"].items()) {
        uses[{flavor["name"].str(), resource["name"].str()}].nominal =
            quantity_in(resource["nominalQuota"]);
      }
    }
  }
  for (const Value& flavor : queue.status()["flavorsUsage"].items()) {
    for (const Value& resource : flavor["resources"].items()) {
      QuotaUse& use = uses[{flavor["name"].str(), resource["name"].str()}];
      use.used = quantity_in(resource["total"]);
      use.borrowed = quantity_in(resource["borrowed"]);
    }
  }
  for (const Value& flavor : queue.status()["flavorsReservation"].items()) {
    for (const Value& resource : flavor["resources"].items()) {
      uses[{flavor["name"].str(), resource["name"].str()}].reserved =
          quantity_in(resource["total"]);
    }
  }
  return uses;
}

void add_uses(QuotaUses& sums, const QuotaUses& uses) {
  for (const auto& [name, use] : uses) {
    QuotaUse& sum = sums[name];
    sum.nominal += use.nominal;
    sum.used += use.used;
    sum.reserved += use.reserved;
    sum.borrowed += use.borrowed;
  }
}

}  // namespace athanor::console
