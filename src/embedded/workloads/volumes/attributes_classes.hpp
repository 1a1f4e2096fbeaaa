// SPDX-License-Identifier: Apache-2.0
// VolumeAttributesClasses stay while a claim or a volume names them.
#pragma once

#include "kube/value/kind.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Read and written by this operator alone.
inline constexpr Kind kVolumeAttributesClass{"storage.k8s.io", "v1", "VolumeAttributesClass",
                                             "volumeattributesclasses", false};

// Keeps the finalizer of classes, and releases it once a class being deleted is unused.
const Operator& attributes_class_protection_operator();

}  // namespace athanor::workloads
