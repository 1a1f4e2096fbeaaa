// SPDX-License-Identifier: Apache-2.0
// Which container an Allocate call is for, and what was handed out (docs/spec/das.md 8.5). The
// kubelet names device IDs alone: the answer follows from the claims and the pods of the node, and
// from the order in which a kubelet asks: pod by pod, init containers first.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "systems/das/claim.hpp"

namespace athanor::das {

// One container's question for devices of one resource.
struct DeviceAsk {
  std::string profile{};
  std::vector<std::string> ids{};
};

// What one question was answered with.
struct Grant {
  std::string profile{};
  std::vector<std::string> ids{};  // in order of bytes; empty: not known since a restart
  std::string pod_uid{};
  std::string container{};
  std::string cdi_id{};
  std::vector<std::string> claims{};  // uids
};

// Devices of a container, as the kubelet keeps them.
struct Holder {
  std::string pod_uid{};
  std::string container{};
  std::string profile{};
  std::vector<std::string> ids{};
};

// What is seen of the node when a question comes.
struct NodeSight {
  std::vector<Claim> claims{};                        // of the node, oldest first
  std::map<std::string, Object, std::less<>> pods{};  // bound to it, by uid
  bool seen = true;  // false: the caches did not answer in time, and nothing is known
  [[nodiscard]] const Object* pod(std::string_view uid) const;
};
// The pod's containers have ended for good.
bool has_ended(const Object& pod);
// No container of the pod starts again once it has ended: its files may go with it.
bool never_restarts(const Object& pod);

// A container that waits for devices: of the next question of this profile that its pod causes.
struct Expected {
  std::string container{};
  std::size_t count = 0;
  bool init = false;  // it uses the slices of the containers after it
};
// All questions about a profile that starting the pod causes, in the kubelet's order.
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
  // Finds whom the devices are for and its claims: the oldest that waits, pods that are being
  // deleted last. Error FailedPrecondition (412): `requested <n> allocations but only found <m>`.
  [[nodiscard]] Result<Picked> pick(const DeviceAsk& ask, const NodeSight& sight) const;
  void add(Grant grant);
  void forget_pod(std::string_view pod_uid);
  // The kubelet's word on whose devices are whose: fills in ids that a restart forgot.
  void learn(std::span<const Holder> holders);
  // Pairs of grants that went to one another's pods (docs/spec/das.md N-B13), each once.
  [[nodiscard]] std::vector<std::pair<Grant, Grant>> mistaken(
      std::span<const Holder> holders) const;
  // Gives each of two devices to the other's pod, with the claims of that pod.
  void exchange(std::string_view cdi_id, std::string_view other);
  // All grants to a container, in order of profiles as bytes.
  [[nodiscard]] std::vector<Grant> of_container(std::string_view pod_uid,
                                                std::string_view container) const;
  [[nodiscard]] const std::vector<Grant>& grants() const { return grants_; }

 private:
  [[nodiscard]] const Grant* same_ids(const DeviceAsk& ask, const NodeSight& sight) const;
  [[nodiscard]] std::size_t answered(std::string_view pod_uid, std::string_view profile) const;

  std::vector<Grant> grants_{};
};

}  // namespace athanor::das
