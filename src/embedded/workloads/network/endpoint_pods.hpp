// SPDX-License-Identifier: Apache-2.0
// What a service and its pods amount to as endpoints: which pods count, and at which ports.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::workloads {

// Labels and annotation of Endpoints and EndpointSlices.
inline constexpr const char* kHeadlessLabel = "service.kubernetes.io/headless";
inline constexpr const char* kServiceNameLabel = "kubernetes.io/service-name";
inline constexpr const char* kManagedByLabel = "endpointslice.kubernetes.io/managed-by";
inline constexpr const char* kLastChangeAnnotation =
    "endpoints.kubernetes.io/last-change-trigger-time";

// Returns true if the service has a selector and no external name. Without one users fill it.
bool has_selector(const Object& service);
// Returns true for clusterIP "None".
bool is_headless(const Object& service);
// Returns the pods that the selector matches, sorted by name.
std::vector<Object> selected_pods(const View& view, const Object& service);
// Has an address and has not ended; one that is being deleted only with `terminating`.
bool may_serve(const Object& pod, bool terminating);
// Returns [{name, protocol, port, appProtocol}] as `pod` offers them, without ports whose named
// target the pod lacks.
Value ports_of(const Object& service, const Object& pod);
// Returns spec.hostname, when the pod's subdomain is this service.
std::string host_name(const Object& service, const Object& pod);
// Returns the targetRef of a pod's endpoint.
Value target_reference(const Object& pod);
// Returns the time of the latest change that matters to endpoints: of the service or of pods'
// readiness.
std::string last_change(const Object& service, const std::vector<Object>& pods);

}  // namespace athanor::workloads
