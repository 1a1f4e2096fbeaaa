// SPDX-License-Identifier: Apache-2.0
// Allocation: which devices of a node the claims of a pod get. Pure; the first devices in slice
// order that satisfy everything, with backtracking (docs/spec/das.md 15.1).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/devices/expression.hpp"
#include "embedded/devices/pool.hpp"
#include "embedded/devices/requests.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::devices {

// Devices that are held, and what is left of the counters of their pools.
class Ledger {
 public:
  [[nodiscard]] bool taken(const DeviceId& id) const { return devices_.contains(id); }
  // Returns true if the counters of the pool leave enough for the device.
  [[nodiscard]] bool affords(const Pool& pool, const Device& device) const;
  void take(const Device& device);
  void give_back(const Device& device);
  // Takes a device that is published no more.
  void hold(const DeviceId& id) { devices_.insert(id); }

 private:
  std::set<DeviceId> devices_{};
  std::map<std::pair<std::string, std::string>, Counters> used_{};  // by driver and pool
};

// A device for a request of a claim.
struct Chosen {
  const DeviceRequest* request = nullptr;
  const Device* device = nullptr;
};
using ClaimDevices = std::vector<Chosen>;

// More devices tried and compared than this, and the node is given up.
inline constexpr std::size_t kMostTries = 100'000;

// Returns the devices of every claim, in the order of the claims and their requests; points into
// `claims` and `pools`. Leaves the ledger as it was. Errors say why the node has none: "cannot
// allocate all claims", or what is wrong with an expression.
Result<std::vector<ClaimDevices>> allocate(std::span<const ClaimRequests> claims,
                                           std::span<const Pool* const> pools, Ledger& ledger,
                                           const Object& node, Expressions& expressions);

// Returns the status.allocation of a claim.
Value allocation_of(const ClaimRequests& claim, const ClaimDevices& devices, const Object& node);

}  // namespace athanor::devices
