// SPDX-License-Identifier: Apache-2.0
#include "agent/node/exchange.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "agent/node/api_writes.hpp"
#include "agent/node/slices.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::agent {
namespace {

using das::Claim;

const Claim* find(const das::NodeSight& sight, std::string_view uid) {
  const auto found = std::ranges::find_if(
      sight.claims, [&](const Claim& claim) { return claim.object.uid() == uid; });
  return found == sight.claims.end() ? nullptr : &*found;
}

Step move(const Claim& claim, const Claim& to) {
  Value spec = Value::object({{"gpuUUID", to.gpu}});
  if (das::is_share(claim)) {
    spec.set("share", to.object.spec()["share"]);
  } else {
    spec.set("migPlacement", Value::object({{"size", to.size}, {"start", to.start}}));
  }
  return Patch{.target = {&das::kAllocationClaim, claim.object.key()},
               .merge = Value::object({{"spec", std::move(spec)}}),
               .guard = {.uid = std::string(claim.object.uid())}};
}

Key hold_key(const Claim& claim, const std::string& ns) {
  return {ns, fmt::format("{}{}", claim.object.uid(), kExchangeSuffix)};
}

Step hold(const Claim& claim, const std::string& ns) {
  const Key key = hold_key(claim, ns);
  return Create{
      .target = {&das::kAllocationClaim, key},
      .object = Value::object({{"apiVersion", das::kGroupVersion},
                               {"kind", das::kAllocationClaim.name},
                               {"metadata", Value::object({{"name", key.name}, {"namespace", ns}})},
                               {"spec", claim.object.spec()}})};
}

}  // namespace

Result<std::vector<Object>> exchange_claims(const das::Grant& one, const das::Grant& other,
                                            const das::NodeSight& sight, Slices& slices,
                                            ApiWrites& writes, const std::string& ns) {
  std::vector<Object> written;
  for (std::size_t i = 0; i < one.claims.size() && i < other.claims.size(); ++i) {
    const Claim* a = find(sight, one.claims[i]);
    const Claim* b = find(sight, other.claims[i]);
    if (a == nullptr || b == nullptr) {
      return Error::not_found("a claim is gone");
    }
    ATHANOR_TRY_VOID(writes.run({hold(*a, ns)}));
    ATHANOR_TRY(std::vector<Object> first, writes.run({move(*a, *b)}));
    ATHANOR_TRY(std::vector<Object> second, writes.run({move(*b, *a)}));
    slices.exchange(*a, *b);
    ATHANOR_TRY_VOID(writes.run({Delete{.target = {&das::kAllocationClaim, hold_key(*a, ns)}}}));
    written.push_back(std::move(first.front()));
    written.push_back(std::move(second.front()));
  }
  return written;
}

void clean_exchanges(const das::NodeSight& sight, ApiWrites& writes) {
  std::vector<Step> steps;
  for (const Claim& claim : sight.claims) {
    if (claim.object.name().ends_with(kExchangeSuffix)) {
      steps.emplace_back(Delete{.target = {&das::kAllocationClaim, claim.object.key()},
                                .guard = {.uid = std::string(claim.object.uid())}});
    }
  }
  if (!steps.empty()) {
    static_cast<void>(writes.run(steps));
  }
}

}  // namespace athanor::agent
