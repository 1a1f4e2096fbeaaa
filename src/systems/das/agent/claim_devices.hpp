// SPDX-License-Identifier: Apache-2.0
// The agent's answer when the kubelet of a real node wants a ResourceClaim prepared: one CDI file
// for the claim, and what each of its devices brings into a container (docs/spec/das.md 15.1).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"

namespace athanor::das {

// A device of this driver that a claim was given.
struct AllocatedDevice {
  std::string request{};
  std::string pool{};
  std::string device{};
};
// Returns the claim's allocated devices of this driver, without those with admin access.
std::vector<AllocatedDevice> allocated_devices(const Object& resource_claim);

// Requests that containers see together: the variables of a group list all of its devices.
using RequestGroup = std::set<std::string>;
// Groups of a claim's requests by the pods that use it. `ours`: names of the pods' claims that this
// driver prepares. A container gets one list of devices, hence errors: a container with several
// such claims, and containers that share some of a claim's requests and not all.
Result<std::vector<RequestGroup>> groups_of(const Object& resource_claim,
                                            const std::vector<Object>& pods,
                                            const std::set<std::string>& ours);

// Returns the CDI device of the group that begins with this request.
std::string claim_device(std::string_view claim_uid, const RequestGroup& group);
// Prints the file's text. `slices`: names of slices, by device.
std::string claim_cdi(const Object& resource_claim, const std::vector<RequestGroup>& groups,
                      const std::map<std::string, std::string>& slices, std::string_view cuda);

// Returns "k8s.das.inference.redhat.com-claim_<uid>.json".
std::string claim_file(std::string_view claim_uid);
// Returns the uid in such a name; empty: another file.
std::string claim_of_file(std::string_view name);

}  // namespace athanor::das
