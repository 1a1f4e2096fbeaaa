// SPDX-License-Identifier: Apache-2.0
// The container that an Allocate call is for, and the answers so far (docs/spec/das.md 8.5). The
// kubelet names device IDs alone: the answer follows from the claims and the pods of the node, and
// from the order in which a kubelet asks: pod by pod, init containers first.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::das {

// One container's question for devices of one resource.
struct DeviceAsk {
  std::string profile{};
  std::vector<std::string> ids{};
};

// The answer to one question.
struct Grant {
  std::string profile{};
  std::vector<std::string> ids{};  // in order of bytes; empty: not known since a restart
  std::string pod_uid{};
  std::string container{};
  std::string cdi_id{};
  std::vector<std::string> claims{};  // uids
  std::string holder{};               // uid of the pod that has the devices, as compared last
  bool lost = false;                  // its kubelet ended before it noted the answer
};

// Devices of a container, as the kubelet keeps them.
struct Holder {
  std::string pod_uid{};  // empty: a pod that is not known yet
  std::string container{};
  std::string profile{};
  std::vector<std::string> ids{};
  Key pod{};  // as the kubelet names it
};

// A grant whose devices the kubelet gave to another pod.
struct Misplaced {
  Grant grant{};
  Holder holder{};
};

// The state of the node at a question.
struct NodeSight {
  std::vector<Claim> claims{};                        // of the node, oldest first
  std::map<std::string, Object, std::less<>> pods{};  // bound to it, by uid
  bool seen = true;  // false: the caches did not answer in time, and nothing is known
  [[nodiscard]] const Object* pod(std::string_view uid) const;
};
// Returns true if the pod's containers have ended for good.
bool has_ended(const Object& pod);
// Returns true if no ended container of the pod starts again: its files may go with it.
bool never_restarts(const Object& pod);

// A container that waits for devices: of the next question of this profile that its pod causes.
struct Expected {
  std::string container{};
  std::size_t count = 0;
  bool init = false;  // it uses the slices of the containers after it
};
// Returns all questions about a profile that the pod's start causes, in the kubelet's order.
std::vector<Expected> expected_asks(const Value& pod_spec, std::string_view profile);

// The container that an Allocate call is for, with its claims.
struct Picked {
  std::string pod_uid{};
  std::string container{};
  std::vector<Claim> claims{};
  std::optional<Grant> repeated{};  // the same question was answered before: nothing is to be made
};

// Devices that were handed to containers, and for whom the next ones are. Not thread-safe.
class Ledger {
 public:
  // Finds whom the devices are for and its claims, none of which a container holds: the pod that
  // waits and was given the same ones before; the oldest pod that waits; then those that are being
  // deleted. A pod that is not seen is never served. Error FailedPrecondition (412):
  // `requested <n> allocations but only found <m>`.
  [[nodiscard]] Result<Picked> pick(const DeviceAsk& ask, const NodeSight& sight) const;
  // Adds a grant in place of lost ones for the same device or the same claims, and returns these.
  std::vector<Grant> add(Grant grant);
  // Removes grants to other pods than the one that is given these devices, and returns them: a
  // kubelet hands out no device that a pod holds.
  std::vector<Grant> take_back(const DeviceAsk& ask, std::string_view pod_uid);
  void forget_claim(std::string_view claim_uid);  // grants with it
  void forget(std::string_view cdi_id);
  // Learns the owners of devices from the kubelet: fills in ids that a restart forgot, and notes
  // each owner.
  void learn(std::span<const Holder> holders);
  // Gives grants to the pods that all of their claims name: a write without an answer may have
  // been done.
  void follow(const NodeSight& sight);
  // Notes that another kubelet than before may ask: settle() is due before the next answer.
  void doubt() { unsure_ = true; }
  [[nodiscard]] bool unsure() const { return unsure_; }
  // Learns, and marks grants that the kubelet does not hold as lost: their pods ask again. Call it
  // when a question comes: a kubelet has noted each answer before it asks again.
  void settle(std::span<const Holder> holders, const NodeSight& sight);
  // Grants whose devices another pod has (docs/spec/das.md N-B13).
  [[nodiscard]] std::vector<Misplaced> misplaced(std::span<const Holder> holders) const;
  // Moves the device, with its claims, to this container from now on.
  void hand_over(std::string_view cdi_id, const std::string& pod_uid, const std::string& container);
  // Returns the grant with this claim, a lost one only if there is no other; null: none.
  [[nodiscard]] const Grant* with_claim(std::string_view claim_uid) const;
  // Returns the container that gets a misplaced grant: an init container of the holder's pod for
  // one of an init container, which no kubelet lists.
  [[nodiscard]] std::string container_for(const Misplaced& misplaced, const NodeSight& sight) const;
  // Returns all grants to a container, in order of profiles as bytes; not those whose devices are
  // known to be another pod's.
  [[nodiscard]] std::vector<Grant> of_container(std::string_view pod_uid,
                                                std::string_view container) const;
  [[nodiscard]] const std::vector<Grant>& grants() const { return grants_; }

 private:
  [[nodiscard]] const Grant* same_ids(const DeviceAsk& ask, const NodeSight& sight) const;
  // Returns the container of the pod's next question; nullopt: all were answered.
  [[nodiscard]] std::optional<Expected> next_ask(const Object& pod, std::string_view profile) const;
  // Removes claims that a container holds; an init container's are those of the ones after it.
  void remove_held(std::vector<Claim>& claims, const NodeSight& sight) const;

  std::vector<Grant> grants_{};
  bool unsure_ = true;  // after a start, too
};

}  // namespace athanor::das
