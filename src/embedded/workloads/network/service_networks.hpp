// SPDX-License-Identifier: Apache-2.0
// ServiceCIDRs: ready while they stay; one that shall go waits for the addresses that come from it
// (docs/spec/apiserver.md 14.5).
#pragma once

#include "kube/value/kind.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Kinds that this operator alone reads and writes.
inline constexpr Kind kServiceCidr{"networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", false};
inline constexpr Kind kIpAddress{"networking.k8s.io", "v1", "IPAddress", "ipaddresses", false};

// Writes condition Ready of ServiceCIDRs, and keeps their finalizer while addresses need them.
const Operator& service_network_operator();

}  // namespace athanor::workloads
