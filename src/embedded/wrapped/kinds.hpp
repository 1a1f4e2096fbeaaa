// SPDX-License-Identifier: Apache-2.0
// Kinds of other projects that AppWrappers wrap, as the lab serves them: any spec, any status
// (docs/spec/appwrapper.md 9.2). On a cluster their own definitions are used.
#pragma once

#include <span>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"

namespace athanor::wrapped {

// Kinds with a controller (operators.hpp).
inline constexpr Kind kJobSet{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", true};
inline constexpr Kind kPyTorchJob{"kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", true};
inline constexpr Kind kRayCluster{"ray.io", "v1", "RayCluster", "rayclusters", true};
inline constexpr Kind kRayJob{"ray.io", "v1", "RayJob", "rayjobs", true};
inline constexpr Kind kLeaderWorkerSet{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet",
                                       "leaderworkersets", true};
// Stored, without a controller.
inline constexpr Kind kPodGroup{"scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", true};
inline constexpr Kind kSigsPodGroup{"scheduling.sigs.k8s.io", "v1alpha1", "PodGroup", "podgroups",
                                    true};

// Returns the definitions of all of them.
std::span<const api::CustomKind* const> custom_kinds();

}  // namespace athanor::wrapped
