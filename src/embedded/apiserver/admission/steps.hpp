// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps; steps.cpp puts them in order (docs/spec/apiserver.md 15.1).
#pragma once

#include <string_view>

#include "embedded/apiserver/admission/admission.hpp"

namespace athanor::apiserver {

// Nothing is made in namespaces that do not exist or are going away.
AdmissionStep namespace_lifecycle_step();
// Gives pods a service account, its token and its pull secrets.
AdmissionStep service_account_step();
AdmissionStep default_toleration_step();
AdmissionStep priority_step();
AdmissionStep runtime_class_step();
// Defaults and bounds of a namespace's LimitRanges.
AdmissionStep limit_ranger_step();
// New nodes are not ready.
AdmissionStep taint_nodes_step();
// Volumes and claims in use stay until they are unused.
AdmissionStep storage_protection_step();
AdmissionStep default_storage_class_step();
// Claims grow only where their class allows it.
AdmissionStep claim_resize_step();
// Refuses roles and bindings that grant more than their writer holds (16.2).
AdmissionStep escalation_step();
// Certificate requests are approved and signed by those who may for their signer.
AdmissionStep certificate_approval_step();
AdmissionStep certificate_signing_step();
AdmissionStep certificate_subject_step();
AdmissionStep default_ingress_class_step();
// Pods keep to the level of their namespace.
AdmissionStep pod_security_step();
// Pods carry zone and region of their node.
AdmissionStep topology_labels_step();
// Kubelets write about their own node and its pods alone.
AdmissionStep node_restriction_step();
// Counts what quotas limit; to be last.
AdmissionStep resource_quota_step();

// The request's resource and group are these; the main object, not a subresource.
bool is_main_write(const AdmissionAttributes& request, std::string_view group,
                   std::string_view plural);
bool creates(const AdmissionAttributes& request, std::string_view group, std::string_view plural);
// RESOURCE "NAME" is forbidden: TEXT.
StatusError refuse(const AdmissionAttributes& request, std::string_view text);

}  // namespace athanor::apiserver
