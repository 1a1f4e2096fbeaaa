// SPDX-License-Identifier: Apache-2.0
// Every text of the FournosJob operator that users and clients see. Contract: docs/spec/fournos.md,
// byte for byte.
// {} are filled in with fmt.
#pragma once

#include <string_view>

namespace athanor::fournos {

namespace phase {
// Values of status.phase (docs/spec/fournos.md 4).
inline constexpr std::string_view kScheduled = "Scheduled";
inline constexpr std::string_view kRecurring = "Recurring";
inline constexpr std::string_view kResolving = "Resolving";
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kAdmitted = "Admitted";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kStopping = "Stopping";
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kStopped = "Stopped";
}  // namespace phase

namespace name {
// Labels, annotations and the flavor resource that jobs and their objects carry
// (docs/spec/fournos.md 1).
inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kFournos = "fournos";
inline constexpr std::string_view kJobName = "fournos.dev/job-name";
inline constexpr std::string_view kCluster = "fournos.dev/cluster";
inline constexpr std::string_view kExclusiveCluster = "fournos.dev/exclusive-cluster";
inline constexpr std::string_view kNoRedirect = "fournos.dev/no-redirect";
inline constexpr std::string_view kHealthy =
    "fournos.dev/healthy";  // of a ResourceFlavor, by Hearth
inline constexpr std::string_view kClusterLock = "fournos.dev/cluster-lock";
inline constexpr std::string_view kClusterSlot = "fournos/cluster-slot";
inline constexpr std::string_view kVaultEntry = "fournos.dev/vault-entry";
inline constexpr std::string_view kResolveImage = "fournos.dev/resolve-image";
// Where an engine's image has its program.
inline constexpr std::string_view kEngineEntrypoint = "/opt/fournos/entrypoint";
// Finalizer of the upstream operator; removed when met.
inline constexpr std::string_view kKopfFinalizer = "kopf.zalando.org/KopfFinalizerMarker";
// Clusterless jobs: status.cluster and the Secret that stands in for a kubeconfig.
inline constexpr std::string_view kClusterless = "[clusterless]";
inline constexpr std::string_view kClusterlessSecret = "fournos-clusterless-placeholder";
// Volume and workspace of a PipelineRun (docs/spec/fournos.md 9.3).
inline constexpr std::string_view kVaultVolume = "vault-secrets";
inline constexpr std::string_view kArtifacts = "artifacts";
inline constexpr std::string_view kResults = "results";      // workspace of result files
inline constexpr std::string_view kPodsReady = "PodsReady";  // condition of a Workload
}  // namespace name

namespace condition {
// Types of a job's conditions (docs/spec/fournos.md 12).
inline constexpr std::string_view kResolved = "Resolved";
inline constexpr std::string_view kWorkloadAdmitted = "WorkloadAdmitted";
inline constexpr std::string_view kPipelineRunReady = "PipelineRunReady";
}  // namespace condition

namespace text {
// Section 5: creation.
inline constexpr std::string_view kStoppedByUser = "Job stopped by user";
inline constexpr std::string_view kInvalidTtl = "Invalid ttl value: '{}'";
inline constexpr std::string_view kInvalidLockUntil = "Invalid lockUntil: '{}'";
inline constexpr std::string_view kLockUntilConflict =
    "lockUntil cannot be combined with lockOnly: false";
inline constexpr std::string_view kScheduledFor = "Scheduled to start at {}";
inline constexpr std::string_view kAwaitingKinds =
    "Waiting for kinds that the cluster does not have: {}";
inline constexpr std::string_view kBothEngines =
    "spec.forge and spec.executionEngine are mutually exclusive";
inline constexpr std::string_view kNameTooLong = "metadata.name must be at most {} characters";
inline constexpr std::string_view kLockNeedsCluster = "lockOnly: true requires 'cluster' to be set";
inline constexpr std::string_view kEngineRequired =
    "spec.executionEngine is required for non-lockOnly jobs";
inline constexpr std::string_view kClusterlessLock =
    "clusterless: true cannot be combined with lockOnly: true";
inline constexpr std::string_view kClusterlessExclusive =
    "clusterless: true requires exclusive: false";
inline constexpr std::string_view kClusterlessCluster =
    "clusterless: true cannot be combined with cluster specification";
inline constexpr std::string_view kNeedsTarget = "Must specify 'cluster', 'hardware', or both";
inline constexpr std::string_view kExclusiveNeedsCluster =
    "exclusive: true requires 'cluster' to be set";
inline constexpr std::string_view kListClusters = "Failed to list clusters: {}";
inline constexpr std::string_view kNoCluster = "Cluster '{}' not found";
inline constexpr std::string_view kListGpuTypes = "Failed to list GPU types: {}";
inline constexpr std::string_view kNoGpuTypes = "No GPU types configured";
inline constexpr std::string_view kUnknownGpuType = "GPU type '{}' not available. Valid types: {}";
inline constexpr std::string_view kBadEnvName = "Invalid environment variable name: '{}'";
inline constexpr std::string_view kReservedSecretRef = "secretRefs entry 'kubeconfig' is reserved";
inline constexpr std::string_view kNoPriorityClass = "Priority class '{}' not found";
inline constexpr std::string_view kCreateWorkload = "Failed to create Workload: {}";
inline constexpr std::string_view kWorkloadCreated =
    "Workload created, waiting for Kueue admission";
inline constexpr std::string_view kResolving = "Resolving job requirements";
inline constexpr std::string_view kLockPending = "Cluster lock pending admission";
inline constexpr std::string_view kLockCreated =
    "Lock workload created, waiting for Kueue admission";
inline constexpr std::string_view kLockHeld = "Cluster lock held on {}";
inline constexpr std::string_view kLockExpired = "Cluster lock expired";

// Section 6: resolving.
inline constexpr std::string_view kFetchPipeline = "Failed to fetch Pipeline '{}': {}";
inline constexpr std::string_view kNoResolveImage =
    "Pipeline '{}' is missing the 'fournos.dev/resolve-image' annotation";
inline constexpr std::string_view kResolveStarted = "Resolve Job created, waiting for completion";
inline constexpr std::string_view kCreateResolve = "Failed to create resolve Job: {}";
inline constexpr std::string_view kResolutionFailed = "Resolution failed: {}";
inline constexpr std::string_view kResolveJobFailed = "Resolve Job failed";
inline constexpr std::string_view kResolved = "Resolution complete";
inline constexpr std::string_view kWorkloadFailed = "Workload creation failed: {}";
inline constexpr std::string_view kKueueError = "Kueue API error: {}";
inline constexpr std::string_view kNoGpuTypesFound = "No GPU types found in any ClusterQueue";
inline constexpr std::string_view kUnknownGpuTypeShort = "GPU type '{}' not available";
inline constexpr std::string_view kSecretMissing =
    "Secret '{}' (ref '{}') not found in namespace {}";
inline constexpr std::string_view kSecretNotVault =
    "Secret '{}' exists but is not a Vault-synced secret (missing fournos.dev/vault-entry=true "
    "label)";
inline constexpr std::string_view kClusterlessReady = "Clusterless job ready for execution";
inline constexpr std::string_view kClusterlessBypass = "Clusterless job bypassed Kueue admission";

// Section 8: waiting for admission, and eviction.
inline constexpr std::string_view kWorkloadRecreated = "Workload missing, recreated";
inline constexpr std::string_view kNoFlavor = "Workload admitted but no flavor assigned";
inline constexpr std::string_view kNoFlavorLong =
    "Workload was admitted but no ResourceFlavor was assigned";
inline constexpr std::string_view kAdmitted = "Workload admitted, assigned to cluster {}";
inline constexpr std::string_view kAssigned = "Assigned to cluster {}";
inline constexpr std::string_view kWaiting = "Waiting for Kueue admission";
inline constexpr std::string_view kWaitingExclusive =
    "Waiting for exclusive access to cluster {} (other jobs are still running)";
inline constexpr std::string_view kLockedBy =
    "Cluster {} is exclusively locked by {}, waiting for it to finish";
inline constexpr std::string_view kCordoned =
    "Cluster {} is cordoned and admits nothing, waiting until it is uncordoned";
inline constexpr std::string_view kReserved =
    "Cluster {} is reserved for {}{}, whose lock waits for running jobs";
inline constexpr std::string_view kLockedFor =
    "Cluster {} is locked for {}{}, waiting for the lock to end";
inline constexpr std::string_view kUntil = " until {}";
inline constexpr std::string_view kUntilUnlocked = " until it is unlocked";
inline constexpr std::string_view kSameCluster = "Cluster {} admits nothing: {}";
inline constexpr std::string_view kNoPlace =
    "Cluster {} has no place in any ClusterQueue{}, waiting until it gets one";
inline constexpr std::string_view kUnreachable =
    "Cluster {} is unreachable ({}), waiting until it answers";
inline constexpr std::string_view kRedirected =
    "Cluster {} is unreachable; redirected to an equivalent cluster";
inline constexpr std::string_view kRedirectedLong =
    "Original cluster {} unreachable; retrying on an equivalent cluster";
inline constexpr std::string_view kAllCordoned =
    "All eligible clusters are cordoned, waiting until one is uncordoned";
inline constexpr std::string_view kLockerJob = "job {}";
inline constexpr std::string_view kLockerUnknown = "another job";
// Parts of Kueue's reasons (R8.1).
inline constexpr std::string_view kUnusedQuota = "insufficient unused quota for {} in flavor ";
inline constexpr std::string_view kQuota = "insufficient quota for {} in flavor ";
inline constexpr std::string_view kNeverFits =
    "Waiting for admission: no cluster has {} GPUs of type {}";
inline constexpr std::string_view kNeverFitsThere =
    "Waiting for admission: cluster {} does not have {} GPUs of type {}";
inline constexpr std::string_view kAllLocked =
    "All eligible clusters are exclusively locked, waiting for availability";
inline constexpr std::string_view kWaitingAdmission = "Waiting for admission: {}";
inline constexpr std::string_view kEvicting =
    "Evicted by Kueue ({}), waiting for PipelineRun cleanup";
inline constexpr std::string_view kRequeued = "Evicted by Kueue ({}), requeued";
inline constexpr std::string_view kEvicted = "Evicted by Kueue ({})";

// Sections 9 and 10: the PipelineRun.
inline constexpr std::string_view kCopyKubeconfig = "Failed to copy kubeconfig: {}";
inline constexpr std::string_view kSecretConflict = "Secret name conflict: {}";
inline constexpr std::string_view kCreateRun = "Failed to create PipelineRun: {}";
inline constexpr std::string_view kRunCreated = "PipelineRun created, waiting for execution";
inline constexpr std::string_view kRunStarted = "PipelineRun has been created";
inline constexpr std::string_view kRunNotFound = "PipelineRun not found";
inline constexpr std::string_view kRunNotFoundLong = "PipelineRun {} not found";
inline constexpr std::string_view kSucceeded = "Pipeline completed successfully";
inline constexpr std::string_view kRunFailed = "PipelineRun failed";
inline constexpr std::string_view kRunning = "Pipeline running";
inline constexpr std::string_view kRunningWith = "Pipeline running: {}";
inline constexpr std::string_view kExecuting = "PipelineRun is executing";

// Section 11: shutdown.
inline constexpr std::string_view kStopRequested =
    "Shutdown (Stop) requested, waiting for PipelineRun cleanup";
inline constexpr std::string_view kTerminateRequested =
    "Shutdown (Terminate) requested, waiting for PipelineRun to stop";
inline constexpr std::string_view kCancelGraceful =
    "PipelineRun cancellation requested (graceful=True)";
inline constexpr std::string_view kCancelAtOnce =
    "PipelineRun cancellation requested (graceful=False)";
inline constexpr std::string_view kStopping = "Stopping, waiting for PipelineRun cleanup";
inline constexpr std::string_view kStoppingWith = "Stopping, waiting for cleanup: {}";
}  // namespace text

}  // namespace athanor::fournos
