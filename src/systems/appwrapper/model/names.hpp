// SPDX-License-Identifier: Apache-2.0
// Names that the AppWrapper system writes and reads (docs/spec/appwrapper.md 1.4 to 1.6).
#pragma once

#include <string_view>

namespace athanor::appwrapper {

namespace name {
// Labels and the finalizer that this system sets (docs/spec/appwrapper.md 1.6).
inline constexpr std::string_view kLabel = "workload.codeflare.dev/appwrapper";
inline constexpr std::string_view kUserLabel = "workload.codeflare.dev/user";
inline constexpr std::string_view kUserIdLabel = "workload.codeflare.dev/userid";
inline constexpr std::string_view kFinalizer = "workload.codeflare.dev/finalizer";
// The value of spec.managedBy that means this controller.
inline constexpr std::string_view kController = "workload.codeflare.dev/appwrapper-controller";
// The value that means MultiKueue, then Kueue's labels and annotations.
inline constexpr std::string_view kMultiKueue = "kueue.x-k8s.io/multikueue";
inline constexpr std::string_view kQueueName = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClass = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kMaxExecTime = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kElasticJob = "kueue.x-k8s.io/elastic-job";
inline constexpr std::string_view kPrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kJobUid = "kueue.x-k8s.io/job-uid";
// Prefix of the annotations of section 6.2 and of PodSet annotations (2.4).
inline constexpr std::string_view kAnnotationPrefix = "workload.codeflare.dev.appwrapper/";
// PodSet annotations for topology-aware scheduling (docs/spec/appwrapper.md 2.4).
inline constexpr std::string_view kPodIndexLabel =
    "workload.codeflare.dev.appwrapper/tas-pod-index-label";
inline constexpr std::string_view kSubGroupIndexLabel =
    "workload.codeflare.dev.appwrapper/tas-sub-group-index-label";
inline constexpr std::string_view kSubGroupCount =
    "workload.codeflare.dev.appwrapper/tas-sub-group-count";
}  // namespace name

namespace phase {
// Values of status.phase (docs/spec/appwrapper.md 1.4).
inline constexpr std::string_view kSuspended = "Suspended";
inline constexpr std::string_view kResuming = "Resuming";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kResetting = "Resetting";
inline constexpr std::string_view kSuspending = "Suspending";
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kTerminating = "Terminating";
}  // namespace phase

namespace condition {
// Types of conditions (docs/spec/appwrapper.md 1.5).
inline constexpr std::string_view kQuotaReserved = "QuotaReserved";
inline constexpr std::string_view kResourcesDeployed = "ResourcesDeployed";
inline constexpr std::string_view kPodsReady = "PodsReady";
inline constexpr std::string_view kUnhealthy = "Unhealthy";
inline constexpr std::string_view kDeletingResources = "DeletingResources";
inline constexpr std::string_view kPhaseChanged = "PhaseChanged";  // B-3
inline constexpr std::string_view kRetried = "Retried";            // B-19
}  // namespace condition

}  // namespace athanor::appwrapper
