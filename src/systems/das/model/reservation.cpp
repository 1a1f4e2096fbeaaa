// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/reservation.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {

bool is_reservation(const Object& claim) {
  return claim.spec()[kReservedMember].is_object();
}

std::vector<const Claim*> Reservation::matching(std::span<const std::string> profiles) const {
  std::vector<const Claim*> left;
  left.reserve(claims.size());
  for (const Claim& claim : claims) {
    left.push_back(&claim);
  }
  std::vector<const Claim*> found;
  for (const std::string& profile : profiles) {
    const auto at =
        std::ranges::find_if(left, [&](const Claim* claim) { return claim->profile == profile; });
    if (at == left.end()) {
      return {};
    }
    found.push_back(*at);
    left.erase(at);
  }
  return left.empty() ? found : std::vector<const Claim*>();
}

std::vector<Reservation> reservations_of(const View& view) {
  std::vector<Reservation> all;
  for (const Claim& claim : claims_for(view, "")) {
    if (!is_reservation(claim.object) || claim.object.deleting()) {
      continue;
    }
    const Value& wanted = claim.object.spec()[kReservedMember];
    const std::string pod = wanted["podUID"].str();
    auto known = std::ranges::find(all, pod, &Reservation::pod_uid);
    if (known == all.end()) {
      all.push_back({.pod_uid = pod, .controller = wanted["controller"].str(), .node = claim.node});
      known = all.end() - 1;
    }
    known->claims.push_back(claim);
  }
  return all;
}

Value make_reservation(const Object& pod, std::string_view ns, const ReservedPlace& place,
                       std::size_t index) {
  const auto controller = pod.controller();
  return Value::object(
      {{"apiVersion", kGroupVersion},
       {"kind", kAllocationClaim.name},
       {"metadata", Value::object({{"name", fmt::format("reserved-{}-{}", pod.uid(), index)},
                                   {"namespace", ns}})},
       {"spec",
        Value::object(
            {{"gpuUUID", place.gpu},
             {"migPlacement", Value::object({{"size", place.size}, {"start", place.start}})},
             {"nodename", place.node},
             {"profile", place.profile},
             {kReservedMember,
              Value::object({{"namespace", pod.ns()},
                             {"pod", pod.name()},
                             {"podUID", pod.uid()},
                             {"controller", controller ? controller->uid : ""}})}})}});
}

}  // namespace athanor::das
