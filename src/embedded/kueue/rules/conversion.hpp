// SPDX-License-Identifier: Apache-2.0
// v1beta1 and v1beta2 of the kueue.x-k8s.io kinds, one into the other (docs/spec/kueue.md section
// 4).
#pragma once

#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::kueue {

// Converts `object`, which carries its kind and the apiVersion in which it is written; the result
// carries `to_version` ("kueue.x-k8s.io/v1beta1"). Fields that only one version has are dropped;
// everything else survives.
Value convert(const Value& object, std::string_view to_version);

}  // namespace athanor::kueue
