// SPDX-License-Identifier: Apache-2.0
// Texts of DAS that clients see: names of objects, labels, annotations, states and reasons.
#pragma once

namespace athanor::das {

// apiVersion of the kinds of DAS, and the namespace where its objects live by default.
inline constexpr const char* kGroupVersion = "inference.redhat.com/v1alpha1";
inline constexpr const char* kDefaultNamespace = "das-operator";
// The name of the only DASOperator that is acted on.
inline constexpr const char* kOperatorName = "cluster";
// Reason of an error: NVML finds no room for the slice, since another program holds its slots.
inline constexpr const char* kInsufficientResources = "InsufficientResources";
// Secret of the serving certificate of webhook and extender, with its authorities.
inline constexpr const char* kServingSecret = "webhook-server-cert";
// Name of the ConfigMap with the scheduler's configuration.
inline constexpr const char* kSchedulerConfigMap = "das-scheduler-config";
// Name of the webhook's Service, and of its Deployment in a lab.
inline constexpr const char* kWebhookName = "das-operator-webhook";
// Name of the scheduler that DAS deploys, and RuntimeClass of pods with slices of real GPUs.
inline constexpr const char* kSchedulerName = "das-scheduler";
inline constexpr const char* kRuntimeClass = "nvidia-legacy";
// The DRA driver of emulated and of real nodes; NVIDIA's own is gpu.nvidia.com.
inline constexpr const char* kDraDriver = "das.inference.redhat.com";
// The accelerator type of nodes without GPUs of NVIDIA.
inline constexpr const char* kAcceleratorLabel = "das.inference.redhat.com/accelerator";
// "true" on nodes that the lab emulates.
inline constexpr const char* kEmulatedLabel = "athanor.dev/emulated";
// "true" on nodes whose GPUs can be sliced.
inline constexpr const char* kMigCapableLabel = "nvidia.com/mig.capable";

// Annotations and labels that users set (docs/spec/das.md 5.3, 6.5, 9.2, 10.1).
inline constexpr const char* kModelAnnotation = "das.inference.redhat.com/emulated-gpu-model";
inline constexpr const char* kCountAnnotation = "das.inference.redhat.com/emulated-gpu-count";
inline constexpr const char* kSameGpuAnnotation = "das.inference.redhat.com/same-gpu";
inline constexpr const char* kGpuAnnotation = "das.inference.redhat.com/gpu-uuid";
inline constexpr const char* kRuntimeClassAnnotation = "das.inference.redhat.com/runtime-class";
inline constexpr const char* kMutateLabel = "das.inference.redhat.com/mutate";
inline constexpr const char* kCleanupFinalizer = "das.inference.redhat.com/cleanup";

// Annotation of a node: a digest of its claims, for schedulers that see no claims.
inline constexpr const char* kClaimsAnnotation = "das.inference.redhat.com/claims";
// When an emulated slice began to be made or removed, with microseconds; only with such a latency.
inline constexpr const char* kSinceAnnotation = "das.inference.redhat.com/emulated-since";

// Reason of events of pods and NodeAccelerators whose slice stays on its GPU.
inline constexpr const char* kSliceDestroyFailed = "SliceDestroyFailed";

// Condition of a claim whose slice did not outlive its node's restart: its pod is to be deleted.
inline constexpr const char* kNodeRestarted = "NodeRestarted";

// States of a claim (docs/spec/das.md 3.1).
inline constexpr const char* kStaged = "staged";
inline constexpr const char* kCreated = "created";
inline constexpr const char* kProcessing = "processing";
inline constexpr const char* kInUse = "inUse";
inline constexpr const char* kOrphaned = "orphaned";

// Reasons of the scheduler (docs/spec/das.md 6.3).
inline constexpr const char* kNotCapable = "node not MIG capable";
inline constexpr const char* kNoGpu = "no GPU available";
inline constexpr const char* kNoSuchGpu = "the node has no GPU";  // and its UUID

}  // namespace athanor::das
