// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/scheduling/amounts.hpp"

#include <algorithm>

#include "kube/text/quantity.hpp"

namespace athanor::numa {

std::int64_t& Amounts::operator[](std::string_view name) {
  const auto found = find(name);
  if (found != end()) {
    return found->second;
  }
  const auto place = std::ranges::lower_bound(
      entries_, name, {}, [](const value_type& entry) { return std::string_view(entry.first); });
  return entries_.emplace(place, std::string(name), 0)->second;
}

Amounts amounts_of(const Value& resources) {
  Amounts amounts;
  for (const Member& resource : resources.members()) {
    if (const auto amount = Quantity::parse(resource.value)) {
      amounts.insert_or_assign(resource.key(), amount->milli_value());
    }
  }
  return amounts;
}

std::int64_t amount_of(const Amounts& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace athanor::numa
