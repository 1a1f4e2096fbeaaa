// SPDX-License-Identifier: Apache-2.0
// Reservations: slots that are kept for an evicted pod until its controller's next pod takes them
// (docs/spec/das.md 16.5). Each slice is an AllocationClaim without a pod and with
// spec.reservedFor; like every claim without a pod it is collected after 5 minutes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::das {

// spec member of a claim: {namespace, pod, podUID, controller}.
inline constexpr const char* kReservedMember = "reservedFor";
// Returns true if the claim keeps slots for a pod that is to come.
bool is_reservation(const Object& claim);

// Slots on one node for all slices of one pod.
struct Reservation {
  std::string pod_uid{};     // of the evicted pod
  std::string controller{};  // uid of its controller, which creates the next pod
  std::string node{};
  std::vector<Claim> claims{};

  // Returns the claims in the order of these profiles; empty: they are others.
  [[nodiscard]] std::vector<const Claim*> matching(std::span<const std::string> profiles) const;
};
// Returns all reservations, the oldest first.
std::vector<Reservation> reservations_of(const View& view);

// Place of one reserved slice.
struct ReservedPlace {
  std::string node{};
  std::string gpu{};  // UUID
  std::string profile{};
  int start = 0;
  int size = 0;
};
// Returns the claim that keeps the place for the next pod of the pod's controller. `index`: of the
// slice in its pod.
Value make_reservation(const Object& pod, std::string_view ns, const ReservedPlace& place,
                       std::size_t index);

}  // namespace athanor::das
