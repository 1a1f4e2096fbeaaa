// SPDX-License-Identifier: Apache-2.0
// The list of controllers of the control plane itself.
#include "embedded/lab/embedded_operators.hpp"

#include <algorithm>
#include <iterator>

#include "embedded/scheduler/scheduler.hpp"
#include "embedded/workloads/certificates.hpp"
#include "embedded/workloads/jobs/cron_job.hpp"
#include "embedded/workloads/jobs/job.hpp"
#include "embedded/workloads/namespace_basics.hpp"
#include "embedded/workloads/network/endpoints.hpp"
#include "embedded/workloads/network/service_networks.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "embedded/workloads/sets/autoscaler.hpp"
#include "embedded/workloads/sets/daemon_set.hpp"
#include "embedded/workloads/sets/deployment.hpp"
#include "embedded/workloads/sets/disruption.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "embedded/workloads/sets/stateful_set.hpp"
#include "embedded/workloads/volumes/attributes_classes.hpp"
#include "embedded/workloads/volumes/resource_claims.hpp"
#include "embedded/workloads/volumes/volumes.hpp"

namespace athanor::lab {
std::vector<const Operator*> embedded_operators() {
  return {&scheduler::scheduler_operator(),
          &workloads::job_operator(),
          &workloads::job_orphan_operator(),
          &workloads::replica_set_operator(),
          &workloads::replication_controller_operator(),
          &workloads::deployment_operator(),
          &workloads::stateful_set_operator(),
          &workloads::daemon_set_operator(),
          &workloads::endpoints_operator(),
          &workloads::endpoint_slice_operator(),
          &workloads::endpoint_slice_mirroring_operator(),
          &workloads::disruption_operator(),
          &workloads::node_lifecycle_operator(),
          &workloads::taint_eviction_operator(),
          &workloads::pod_garbage_operator(),
          &workloads::terminated_pods_operator(),
          &workloads::token_cleaner_operator(),
          &workloads::certificate_approving_operator(),
          &workloads::certificate_signing_operator(),
          &workloads::certificate_cleaner_operator(),
          &workloads::pod_resource_claim_operator(),
          &workloads::resource_claim_operator(),
          &workloads::cron_job_operator(),
          &workloads::ttl_after_finished_operator(),
          &workloads::autoscaler_operator(),
          &workloads::volume_claim_operator(),
          &workloads::volume_operator(),
          &workloads::provisioner_operator(),
          &workloads::ephemeral_volume_operator(),
          &workloads::reclaimer_operator(),
          &workloads::claim_protection_operator(),
          &workloads::volume_protection_operator(),
          &workloads::attributes_class_protection_operator(),
          &workloads::account_token_operator(),
          &workloads::service_account_operator(),
          &workloads::root_ca_operator(),
          &workloads::role_aggregation_operator(),
          &workloads::service_network_operator()};
}

bool is_external(std::string_view name) {
  static constexpr std::string_view kNames[] = {"default-scheduler",
                                                "job-controller",
                                                "job-orphan-controller",
                                                "replicaset-controller",
                                                "replicationcontroller-controller",
                                                "terminated-pod-garbage-controller",
                                                "token-cleaner-controller",
                                                "certificatesigningrequest-approving-controller",
                                                "certificatesigningrequest-signing-controller",
                                                "certificatesigningrequest-cleaner-controller",
                                                "resourceclaim-controller",
                                                "resourceclaim-release-controller",
                                                "deployment-controller",
                                                "statefulset-controller",
                                                "daemonset-controller",
                                                "endpoints-controller",
                                                "endpointslice-controller",
                                                "endpointslice-mirroring-controller",
                                                "disruption-controller",
                                                "node-lifecycle-controller",
                                                "taint-eviction-controller",
                                                "pod-garbage-collector-controller",
                                                "cronjob-controller",
                                                "ttl-after-finished-controller",
                                                "horizontal-pod-autoscaler-controller",
                                                "persistentvolume-binder-controller",
                                                "persistentvolume-reclaim-controller",
                                                "ephemeral-volume-controller",
                                                "persistentvolumeclaim-protection-controller",
                                                "persistentvolume-protection-controller",
                                                "volumeattributesclass-protection-controller",
                                                "serviceaccount-token-controller",
                                                "serviceaccount-controller",
                                                "root-ca-certificate-publisher-controller",
                                                "clusterrole-aggregation-controller",
                                                "service-cidr-controller",
                                                "garbage-collector-controller",
                                                "namespace-controller",
                                                "resourcequota-controller",
                                                "validatingadmissionpolicy-status-controller"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

std::vector<Value> embedded_objects() {
  std::vector<Value> objects;
  objects.push_back(Value::object(
      {{"apiVersion", "storage.k8s.io/v1"},
       {"kind", "StorageClass"},
       {"metadata", Value::object({{"name", "standard"},
                                   {"annotations",
                                    Value::object({{"storageclass.kubernetes.io/is-default-class",
                                                    "true"}})}})},
       {"provisioner", workloads::kEmulatedProvisioner},
       {"reclaimPolicy", "Delete"},
       {"volumeBindingMode", "Immediate"}}));
  return objects;
}

}  // namespace athanor::lab
