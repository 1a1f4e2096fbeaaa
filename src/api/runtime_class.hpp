// SPDX-License-Identifier: Apache-2.0
// The built-in kind that names a container runtime: queueing counts its overhead, admission of
// slices looks for it.
#pragma once

#include "kube/value/kind.hpp"

namespace athanor::api {

inline constexpr Kind kRuntimeClass{"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false};

}  // namespace athanor::api
