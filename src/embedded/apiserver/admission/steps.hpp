// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps; core/admission_order.cpp puts them in order
// (docs/spec/apiserver.md 15.1).
#pragma once

#include <string_view>

#include "embedded/apiserver/request/admission.hpp"

namespace athanor::apiserver {

// Refuses objects in namespaces that do not exist or are going away.
AdmissionStep namespace_lifecycle_step();
// Gives pods a service account, its token and its pull secrets.
AdmissionStep service_account_step();
// Lets pods tolerate unreachable and not-ready nodes for 300 seconds.
AdmissionStep default_toleration_step();
// Sets priority and preemptionPolicy of pods from their class; refuses a second default class.
AdmissionStep priority_step();
// Adds overhead and scheduling of a pod's RuntimeClass.
AdmissionStep runtime_class_step();
// Defaults and bounds of a namespace's LimitRanges.
AdmissionStep limit_ranger_step();
// Taints new nodes as not ready.
AdmissionStep taint_nodes_step();
// Volumes and claims in use stay until they are unused.
AdmissionStep storage_protection_step();
// Sets the default StorageClass of claims that name none.
AdmissionStep default_storage_class_step();
// Claims grow only where their class allows it.
AdmissionStep claim_resize_step();
// Refuses roles and bindings that grant more than their writer holds (16.2).
AdmissionStep escalation_step();
// Requires the verb "approve" on the signer for changes of a certificate request's approval (12.4).
AdmissionStep certificate_approval_step();
// Requires the verb "sign" on the signer for writes of certificate and conditions.
AdmissionStep certificate_signing_step();
// Refuses client certificates of group system:masters.
AdmissionStep certificate_subject_step();
// Sets the default IngressClass of ingresses that name none.
AdmissionStep default_ingress_class_step();
// Keeps pods to the level of their namespace.
AdmissionStep pod_security_step();
// Labels pods with zone and region of their node.
AdmissionStep topology_labels_step();
// Kubelets write about their own node and its pods alone.
AdmissionStep node_restriction_step();
// Counts what quotas limit; to be last.
AdmissionStep resource_quota_step();

// Returns true if the request writes the main object of that resource, not a subresource.
bool is_main_write(const AdmissionAttributes& request, std::string_view group,
                   std::string_view plural);
// Checks the same for creates alone.
bool creates(const AdmissionAttributes& request, std::string_view group, std::string_view plural);
// Returns the error: RESOURCE "NAME" is forbidden: TEXT.
StatusError refuse(const AdmissionAttributes& request, std::string_view text);

}  // namespace athanor::apiserver
