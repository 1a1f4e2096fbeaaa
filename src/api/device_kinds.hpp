// SPDX-License-Identifier: Apache-2.0
// The built-in kinds with which drivers publish devices; claims of them are in builtin.hpp.
#pragma once

#include "kube/value/kind.hpp"

namespace athanor::api {

inline constexpr Kind kResourceSlice{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices",
                                     false};
inline constexpr Kind kDeviceClass{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false};

}  // namespace athanor::api
