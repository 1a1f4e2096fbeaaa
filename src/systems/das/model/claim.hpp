// SPDX-License-Identifier: Apache-2.0
// AllocationClaims: reading their payload, also one that was written by hand, and making new ones
// (docs/spec/das.md 2.2, 3).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das {

// An AllocationClaim as plain data; `start` and `size` in slots.
struct Claim {
  Object object{};
  std::string profile{};  // of a share: its resource
  std::string gpu{};
  std::string node{};
  std::string container{};
  std::string pod_uid{};
  Key pod{};
  int start = 0;
  int size = 0;         // of a share: 0
  std::string state{};  // empty right after creation

  [[nodiscard]] SlotMask mask() const { return mask_of(start, size); }
};
// Reads a claim; nullopt: the spec is empty, no payload, or its placement lies outside a GPU. Such
// a claim holds no slot.
std::optional<Claim> read_claim(const Object& object);
// Returns true once an agent has begun to make the claim's slice: its node alone ends it.
bool is_made(const Claim& claim);

// spec member of a claim that mirrors a device of a ResourceClaim: {namespace, name, uid, device}.
inline constexpr const char* kMirrorMember = "resourceClaim";
// Returns true if the claim mirrors a device of a ResourceClaim.
bool is_mirror(const Object& claim);

// Returns "1g.5gb on GPU-..., slot 4", a slice's place for people.
std::string place_of(const Claim& claim);

// Indexes of claims that the scheduler and the agents read.
inline constexpr std::string_view kClaimsByNode = "das-node";
inline constexpr std::string_view kClaimsByPod = "das-pod";  // uid
// Returns the claim's values for one of these indexes. Mirrors have no pod.
std::vector<std::string> claim_nodes(const Object& claim);
std::vector<std::string> claim_pods(const Object& claim);
// Returns claims in order of creation, then name.
std::vector<Claim> claims_on(const View& view, std::string_view node);
// Returns the claims of a pod, in the same order.
std::vector<Claim> claims_for(const View& view, std::string_view pod_uid);

// Returns "<podUID>-<nodeName>-<containerName>-<i>"; 8 digits of its digest replace a node name
// that would make it longer than 253 characters.
std::string claim_name(std::string_view pod_uid, std::string_view node, const SliceRequest& slice);

// Values of a claim to be made; `start` and `size` in slots.
struct NewClaim {
  const Object& pod;
  std::string_view ns{};
  std::string_view node{};
  const SliceRequest& slice;
  std::string_view gpu{};
  int start = 0;
  int size = 0;
};
// Returns the AllocationClaim without status, named by claim_name().
Value make_claim(const NewClaim& wanted);

// Returns the status for a state that is reached now, on top of the present status: condition
// "State", and one for each state reached. `states`: all that are reached by this write, in order.
Value claim_status(const Value& status, std::vector<std::string_view> states,
                   std::int64_t generation, Instant now);

// Notes the beginning of an emulated step that takes time (docs/spec/das.md E-B4) on the claim, and
// returns its end. nullopt: it is over.
std::optional<Instant> ends_at(const Claim& claim, std::string_view step, Duration takes,
                               Instant now, Plan& plan);

}  // namespace athanor::das
