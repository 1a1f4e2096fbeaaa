// SPDX-License-Identifier: Apache-2.0
// Labels, annotations and kinds of the job integrations (docs/spec/kueue.md 10).
#pragma once

#include <string_view>

#include "api/kueue_integration.hpp"
#include "kube/value/kind.hpp"

namespace athanor::kueue::jobs {

namespace name {
// Labels, unless noted otherwise.
inline constexpr std::string_view kQueue = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClass = "kueue.x-k8s.io/priority-class";
// Label or annotation, as that of the group (identifiers.hpp).
inline constexpr std::string_view kPrebuilt = "kueue.x-k8s.io/prebuilt-workload-name";
using api::kueue::kMaxExecTime;
inline constexpr std::string_view kJobUid = "kueue.x-k8s.io/job-uid";
inline constexpr std::string_view kPodSet = "kueue.x-k8s.io/podset";
inline constexpr std::string_view kLocalQueue = "kueue.x-k8s.io/local-queue-name";
inline constexpr std::string_view kClusterQueue = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr std::string_view kWorkload = "kueue.x-k8s.io/workload";  // an annotation
inline constexpr std::string_view kManaged = "kueue.x-k8s.io/managed";    // label and finalizer
inline constexpr std::string_view kGate = "kueue.x-k8s.io/admission";     // a scheduling gate
inline constexpr std::string_view kGroup = "kueue.x-k8s.io/pod-group-name";
inline constexpr std::string_view kRoleHash = "kueue.x-k8s.io/role-hash";  // an annotation
inline constexpr std::string_view kGroupTotal =
    "kueue.x-k8s.io/pod-group-total-count";  // an annotation
// An annotation: "true" makes the Workload of a group as soon as its first pod is there.
inline constexpr std::string_view kFastAdmission = "kueue.x-k8s.io/pod-group-fast-admission";
// An annotation: "false" ends a group as soon as no pod of it runs.
inline constexpr std::string_view kRetriable = "kueue.x-k8s.io/retriable-in-group";
inline constexpr std::string_view kIsGroup =
    "kueue.x-k8s.io/is-group-workload";  // an annotation of Workloads
inline constexpr std::string_view kMinParallelism =
    "kueue.x-k8s.io/job-min-parallelism";  // an annotation
// An annotation.
inline constexpr std::string_view kEqualCompletions =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
// The LocalQueue that jobs without a queue get where their namespace has it.
inline constexpr std::string_view kDefaultQueue = "default";
}  // namespace name

// Kinds of other projects, there where their definitions are.
inline constexpr Kind kJobSet{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", true};
inline constexpr Kind kPyTorchJob{"kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", true};
inline constexpr Kind kRayCluster{"ray.io", "v1", "RayCluster", "rayclusters", true};
inline constexpr Kind kRayJob{"ray.io", "v1", "RayJob", "rayjobs", true};
inline constexpr Kind kLeaderWorkerSet{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet",
                                       "leaderworkersets", true};
inline constexpr Kind kRayService{"ray.io", "v1", "RayService", "rayservices", true};
inline constexpr Kind kTrainJob{"trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", true};
inline constexpr Kind kMpiJob{"kubeflow.org", "v2beta1", "MPIJob", "mpijobs", true};
inline constexpr Kind kTfJob{"kubeflow.org", "v1", "TFJob", "tfjobs", true};
inline constexpr Kind kXgBoostJob{"kubeflow.org", "v1", "XGBoostJob", "xgboostjobs", true};
inline constexpr Kind kPaddleJob{"kubeflow.org", "v1", "PaddleJob", "paddlejobs", true};
inline constexpr Kind kJaxJob{"kubeflow.org", "v1", "JAXJob", "jaxjobs", true};
inline constexpr Kind kAppWrapper{"workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers",
                                  true};

// The value of an AppWrapper's spec.managedBy that means its own controller, as none does.
inline constexpr std::string_view kAppWrapperController =
    "workload.codeflare.dev/appwrapper-controller";

}  // namespace athanor::kueue::jobs
