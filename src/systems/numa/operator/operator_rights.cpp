// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/operator_rights.hpp"

#include "base/check.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kClusterRules = R"yaml(
- {apiGroups: [""], resources: [configmaps, namespaces, nodes, persistentvolumeclaims, persistentvolumes, replicationcontrollers, services], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete]}
- {apiGroups: [""], resources: [pods/status], verbs: [patch, update]}
- {apiGroups: [""], resources: [bindings, pods/binding], verbs: [create]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch, update]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create, list, watch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], resourceNames: [noderesourcetopologies.topology.node.k8s.io], verbs: [delete, get, patch, update]}
- {apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], verbs: [create, list, watch]}
- {apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], resourceNames: [rte-own-node], verbs: [delete, get, patch, update]}
- {apiGroups: [apps], resources: [statefulsets], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [daemonsets, deployments], verbs: [list, watch]}
- {apiGroups: [apps, extensions], resources: [replicasets], verbs: [get, list, watch]}
- {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list, watch]}
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
- {apiGroups: [config.openshift.io], resources: [apiservers, infrastructures, clusterversions], verbs: [get, list, watch]}
- {apiGroups: [config.openshift.io], resources: [clusteroperators], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leasecandidates], verbs: [create, delete, deletecollection, get, list, patch, update, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [numa-scheduler-leader], verbs: [get, list, update, watch]}
- {apiGroups: [machineconfiguration.openshift.io], resources: [kubeletconfigs, machineconfigpools], verbs: [get, list, watch]}
- {apiGroups: [machineconfiguration.openshift.io], resources: [kubeletconfigs/finalizers], verbs: [update]}
- {apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [create, delete, get, list, patch, update, watch]}
- {apiGroups: [nodetopology.openshift.io], resources: [numaresourcesoperators, numaresourcesschedulers], verbs: [get, list, watch]}
- {apiGroups: [nodetopology.openshift.io], resources: [numaresourcesoperators/finalizers, numaresourcesschedulers/finalizers], verbs: [update]}
- {apiGroups: [nodetopology.openshift.io], resources: [numaresourcesoperators/status, numaresourcesschedulers/status], verbs: [get, patch, update]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], verbs: [create, list, watch]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], resourceNames: [rte, topology-aware-scheduler], verbs: [delete, get, patch, update]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], resourceNames: [secondary-scheduler], verbs: [delete, get]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: [list, watch]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [list, watch]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [list, watch]}
- {apiGroups: [resource.k8s.io], resources: [deviceclasses, resourceclaims, resourceslices], verbs: [get, list, watch]}
- {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [create, list, watch]}
- {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [resource-topology-exporter, resource-topology-exporter-v2], verbs: [delete, get, patch, update]}
- {apiGroups: [storage.k8s.io], resources: [csidrivers, csinodes, csistoragecapacities, storageclasses, volumeattachments], verbs: [get, list, watch]}
- {apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [create, get, list, patch, update, watch]}
)yaml";

constexpr std::string_view kRules = R"yaml(
- {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, update, watch]}
- {apiGroups: [""], resources: [endpoints], verbs: [create]}
- {apiGroups: [""], resources: [endpoints], resourceNames: [numa-scheduler-leader], verbs: [get, update]}
- {apiGroups: [""], resources: [serviceaccounts, services], verbs: [create, list, watch]}
- {apiGroups: [""], resources: [serviceaccounts, services], resourceNames: [rte, secondary-scheduler, numaresources-rte-metrics-service], verbs: [delete, get, patch, update]}
- {apiGroups: [apps], resources: [daemonsets], verbs: [create, delete, get, list, patch, update, watch]}
- {apiGroups: [apps], resources: [deployments], verbs: [create, list, watch]}
- {apiGroups: [apps], resources: [deployments], resourceNames: [secondary-scheduler], verbs: [delete, get, patch, update]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, delete, list, update, watch]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], resourceNames: [rte-egress-to-api-server, ingress-to-rte-metrics, rte-default-deny-all, scheduler-default-deny-all, scheduler-egress-to-api-server], verbs: [get, patch, update]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: [create, list, watch]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], resourceNames: [rte, topology-aware-scheduler-leader-elect], verbs: [delete, get, patch, update]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, delete, get, list, patch, update, watch]}
)yaml";

Value rules_of(std::string_view text) {
  auto rules = yaml::parse(text);
  ATHANOR_CHECK(rules.ok(), "rules in the program are valid");
  return *std::move(rules);
}

}  // namespace

Value operator_cluster_rules() {
  return rules_of(kClusterRules);
}

Value operator_rules() {
  return rules_of(kRules);
}

}  // namespace athanor::numa
