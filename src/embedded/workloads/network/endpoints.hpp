// SPDX-License-Identifier: Apache-2.0
// Endpoints and EndpointSlices: where the pods behind a service can be reached.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Keeps v1 Endpoints of services with a selector.
const Operator& endpoints_operator();
// EndpointSlices of services with a selector.
const Operator& endpoint_slice_operator();
// EndpointSlices that mirror Endpoints which users made for services without a selector.
const Operator& endpoint_slice_mirroring_operator();

}  // namespace athanor::workloads
