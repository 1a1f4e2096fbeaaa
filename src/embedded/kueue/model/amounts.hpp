// SPDX-License-Identifier: Apache-2.0
// Resource amounts as the admission engine counts them: cpu in milli units, everything else in
// whole units.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kube/text/quantity.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

using Amount = std::int64_t;
using Amounts = std::map<std::string, Amount, std::less<>>;  // by resource name

// The most that one workload asks for or holds of a resource. Sums of 200 such amounts are still
// numbers, so that no request wraps round and fits.
inline constexpr Amount kMostAmount = Amount{1} << 55U;

// One cell of every quota table.
struct FlavorResource {
  std::string flavor{};
  std::string resource{};
  friend auto operator<=>(const FlavorResource&, const FlavorResource&) = default;
};

// Returns the amount; 0 when the value is no quantity.
Amount amount_of(std::string_view resource, const Value& quantity);
// Returns "500m" for cpu, "1Gi" for memory-like resources, else "8" (docs/spec/kueue.md 7.6).
std::string amount_text(std::string_view resource, Amount amount);

}  // namespace athanor::kueue
