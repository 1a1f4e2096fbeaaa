// SPDX-License-Identifier: Apache-2.0
// The built-in kinds that controllers name. Their schemas come from kube/types.hpp.
#pragma once

#include "kube/value/kind.hpp"

namespace athanor::api {

inline constexpr Kind kPod{"", "v1", "Pod", "pods", true};
inline constexpr Kind kNode{"", "v1", "Node", "nodes", false};
inline constexpr Kind kNamespace{"", "v1", "Namespace", "namespaces", false};
inline constexpr Kind kConfigMap{"", "v1", "ConfigMap", "configmaps", true};
inline constexpr Kind kSecret{"", "v1", "Secret", "secrets", true};
inline constexpr Kind kServiceAccount{"", "v1", "ServiceAccount", "serviceaccounts", true};
inline constexpr Kind kService{"", "v1", "Service", "services", true};
inline constexpr Kind kEvent{"", "v1", "Event", "events", true};
inline constexpr Kind kPersistentVolumeClaim{"", "v1", "PersistentVolumeClaim",
                                             "persistentvolumeclaims", true};
inline constexpr Kind kPersistentVolume{"", "v1", "PersistentVolume", "persistentvolumes", false};
inline constexpr Kind kLimitRange{"", "v1", "LimitRange", "limitranges", true};
inline constexpr Kind kResourceQuota{"", "v1", "ResourceQuota", "resourcequotas", true};
inline constexpr Kind kJob{"batch", "v1", "Job", "jobs", true};
inline constexpr Kind kCronJob{"batch", "v1", "CronJob", "cronjobs", true};
inline constexpr Kind kDeployment{"apps", "v1", "Deployment", "deployments", true};
inline constexpr Kind kReplicaSet{"apps", "v1", "ReplicaSet", "replicasets", true};
inline constexpr Kind kStatefulSet{"apps", "v1", "StatefulSet", "statefulsets", true};
inline constexpr Kind kDaemonSet{"apps", "v1", "DaemonSet", "daemonsets", true};
inline constexpr Kind kControllerRevision{"apps", "v1", "ControllerRevision", "controllerrevisions",
                                          true};
inline constexpr Kind kReplicationController{"", "v1", "ReplicationController",
                                             "replicationcontrollers", true};
inline constexpr Kind kEndpoints{"", "v1", "Endpoints", "endpoints", true};
inline constexpr Kind kEndpointSlice{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices",
                                     true};
inline constexpr Kind kPodDisruptionBudget{"policy", "v1", "PodDisruptionBudget",
                                           "poddisruptionbudgets", true};
inline constexpr Kind kHorizontalPodAutoscaler{"autoscaling", "v2", "HorizontalPodAutoscaler",
                                               "horizontalpodautoscalers", true};
inline constexpr Kind kStorageClass{"storage.k8s.io", "v1", "StorageClass", "storageclasses",
                                    false};
inline constexpr Kind kPriorityClass{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
                                     false};
inline constexpr Kind kClusterRole{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles",
                                   false};
inline constexpr Kind kResourceClaim{"resource.k8s.io", "v1", "ResourceClaim", "resourceclaims",
                                     true};
inline constexpr Kind kResourceClaimTemplate{"resource.k8s.io", "v1", "ResourceClaimTemplate",
                                             "resourceclaimtemplates", true};
inline constexpr Kind kCertificateSigningRequest{
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", false};
inline constexpr Kind kLease{"coordination.k8s.io", "v1", "Lease", "leases", true};
inline constexpr Kind kCustomResourceDefinition{
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false};

}  // namespace athanor::api
