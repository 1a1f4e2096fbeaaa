// SPDX-License-Identifier: Apache-2.0
// Names that are visible through the API: labels, annotations, finalizers, condition types, reasons
// of conditions and events (docs/spec/hearth.md sections 1, 2.5, 12). Private to this folder.
#pragma once

#include <string_view>

namespace athanor::hearth {

namespace name {
// Labels, and the resource of cluster slots (docs/spec/hearth.md 1).
inline constexpr std::string_view kKubeconfigLabel = "fournos.dev/cluster-kubeconfig";
inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kHearth = "hearth";
inline constexpr std::string_view kAutoDiscovered = "fournos.dev/auto-discovered";
inline constexpr std::string_view kLockLabel = "fournos.dev/cluster-lock";
inline constexpr std::string_view kClusterNodeLabel = "fournos.dev/cluster";
inline constexpr std::string_view kHealthyLabel = "fournos.dev/healthy";
inline constexpr std::string_view kClusterSlot = "fournos/cluster-slot";

// Our finalizer, and upstream's finalizer and prefix of annotations, which are removed.
inline constexpr std::string_view kFinalizer = "fournos.dev/cluster-cleanup";
inline constexpr std::string_view kKopfFinalizer = "kopf.zalando.org/KopfFinalizerMarker";
inline constexpr std::string_view kKopfPrefix = "kopf.zalando.org/";

// On Secrets.
inline constexpr std::string_view kOwner = "fournos.dev/owner";
inline constexpr std::string_view kTtl = "fournos.dev/ttl";
inline constexpr std::string_view kOffboarded = "fournos.dev/offboarded";
inline constexpr std::string_view kOnboarded = "fournos.dev/onboarded";  // manual offboarding alone

// On FournosClusters, by their users.
inline constexpr std::string_view kRediscover = "fournos.dev/rediscover";
inline constexpr std::string_view kDeleteKubeconfig = "fournos.dev/delete-kubeconfig";
inline constexpr std::string_view kDrainTimeout = "fournos.dev/drain-timeout";
// On FournosClusters, by us: what has to survive a restart.
inline constexpr std::string_view kSlotQuota = "fournos.dev/slot-quota";
inline constexpr std::string_view kClusterId = "fournos.dev/cluster-id";
inline constexpr std::string_view kLastProbe = "fournos.dev/last-probe";  // "<time> <question>"
inline constexpr std::string_view kLock = "fournos.dev/lock";             // "<since> <owner>"
inline constexpr std::string_view kLockWarned = "fournos.dev/lock-warned";
inline constexpr std::string_view kLockRetries = "fournos.dev/lock-retries";  // "<count> <time>"
inline constexpr std::string_view kForcedSince = "fournos.dev/forced-since";

// On the sentinel.
inline constexpr std::string_view kLockOf = "fournos.dev/lock-of";
// What upstream's sentinels are called.
inline constexpr std::string_view kUpstreamLockPrefix = "hearth-lock-";
}  // namespace name

namespace condition {
// Types of conditions (docs/spec/hearth.md 2.5).
inline constexpr std::string_view kKubeconfigValid = "KubeconfigValid";
inline constexpr std::string_view kGpuDiscovered = "GPUDiscovered";
inline constexpr std::string_view kKueueSynced = "KueueSynced";
inline constexpr std::string_view kLocked = "Locked";
inline constexpr std::string_view kOffboarding = "Offboarding";
}  // namespace condition

namespace state {
// Values of status.kubeconfigStatus.
inline constexpr std::string_view kValid = "Valid";
inline constexpr std::string_view kMissing = "Missing";
inline constexpr std::string_view kInvalid = "Invalid";
inline constexpr std::string_view kUnreachable = "Unreachable";

// Values of status.lockState.
inline constexpr std::string_view kUnlocked = "Unlocked";
inline constexpr std::string_view kAcquiring = "Acquiring";
inline constexpr std::string_view kHeld = "Held";
inline constexpr std::string_view kLost = "Lost";
inline constexpr std::string_view kFailed = "Failed";
}  // namespace state

// Reasons of the condition Offboarding, in their order.
namespace offboarding {
inline constexpr std::string_view kDraining = "Draining";
inline constexpr std::string_view kRemovingQuota = "RemovingQuota";
inline constexpr std::string_view kRemovingFlavor = "RemovingFlavor";
inline constexpr std::string_view kDone = "Done";
inline constexpr std::string_view kBlocked = "Blocked";
}  // namespace offboarding

// Failed probes after which a cluster counts as unreachable.
inline constexpr int kFailuresToUnreachable = 5;
// Default quota of cluster slots.
inline constexpr int kSlotsPerCluster = 100;
// A flavor carries the cluster's name as a node label's value.
inline constexpr std::size_t kLongestName = 63;

}  // namespace athanor::hearth
