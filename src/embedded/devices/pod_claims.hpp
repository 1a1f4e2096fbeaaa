// SPDX-License-Identifier: Apache-2.0
// The ResourceClaims of a pod: those that its spec names, and the one that is made for extended
// resources that a DeviceClass stands for (docs/spec/das.md 15.1).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::devices {

// Finalizer of allocated claims, and the annotation of the claim for extended resources.
inline constexpr const char* kClaimFinalizer = "resource.kubernetes.io/delete-protection";
inline constexpr const char* kExtendedAnnotation = "resource.kubernetes.io/extended-resource-claim";

// The claims of spec.resourceClaims.
struct NamedClaims {
  // Why no node will do, in kube-scheduler's words; empty: all claims are there.
  std::string refusal{};
  std::vector<Object> claims{};
};
// Reads the claims that a pod names, each once.
NamedClaims named_claims(const View& view, const Object& pod);
// Returns the claim's name of an entry of spec.resourceClaims; empty: not known yet, or none.
std::string claim_name(const Object& pod, const Value& entry);

// DeviceClasses by the extended resource that they stand for.
using ExtendedClasses = std::map<std::string, std::string, std::less<>>;
// Returns them by spec.extendedResourceName (of several classes the newest), and by the implicit
// name of every class.
ExtendedClasses extended_classes(const std::vector<Object>& classes);

// Devices that a container asks for as an extended resource.
struct ExtendedRequest {
  std::string container{};
  std::string resource{};
  std::string name{};  // of the request in the claim
  std::string device_class{};
  std::int64_t count = 0;  // 0: those of an app container's request of that name
};
// Returns the requests of a pod's containers for such resources; empty: it has none.
std::vector<ExtendedRequest> extended_requests(const Object& pod, const ExtendedClasses& classes);

// Returns the name of the pod's claim for extended resources.
std::string extended_claim_name(const Object& pod);
// Returns the claim for extended resources; its owner is the pod.
Value extended_claim(const Object& pod, const std::vector<ExtendedRequest>& requests);
// Returns the pod's status.extendedResourceClaimStatus.
Value extended_status(const Object& pod, const std::vector<ExtendedRequest>& requests);

// Returns true if the claim is held for the pod.
bool reserved_for(const Object& claim, const Object& pod);
// Returns the claim's status.reservedFor with the pod in it.
Value reserved_with(const Object& claim, const Object& pod);
// Returns true if the allocation may be used on the node.
bool usable_on(const Value& allocation, const Object& node);

}  // namespace athanor::devices
