// SPDX-License-Identifier: Apache-2.0
// The list of controllers, and the webhooks of Kueue and Tekton as steps of the server's admission.
#include "embedded/lab/embedded_operators.hpp"

#include <algorithm>
#include <iterator>

#include "embedded/kueue/admission.hpp"
#include "embedded/kueue/conversion.hpp"
#include "embedded/kueue/scheduler.hpp"
#include "embedded/kueue/settings.hpp"
#include "embedded/kueue/webhooks.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "embedded/tekton/admission.hpp"
#include "embedded/tekton/config_objects.hpp"
#include "embedded/tekton/operators.hpp"
#include "embedded/tekton/webhooks.hpp"
#include "embedded/workloads/attributes_classes.hpp"
#include "embedded/workloads/autoscaler.hpp"
#include "embedded/workloads/certificates.hpp"
#include "embedded/workloads/cron_job.hpp"
#include "embedded/workloads/daemon_set.hpp"
#include "embedded/workloads/deployment.hpp"
#include "embedded/workloads/disruption.hpp"
#include "embedded/workloads/endpoints.hpp"
#include "embedded/workloads/job.hpp"
#include "embedded/workloads/namespace_basics.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "embedded/workloads/replica_set.hpp"
#include "embedded/workloads/resource_claims.hpp"
#include "embedded/workloads/service_networks.hpp"
#include "embedded/workloads/stateful_set.hpp"
#include "embedded/workloads/volumes.hpp"

namespace athanor::lab {
namespace {

using apiserver::AdmissionContext;
using apiserver::AdmissionRequest;
using apiserver::AdmissionStep;
using apiserver::Operation;
using apiserver::StatusResult;

constexpr std::string_view kKueueGroup = "kueue.x-k8s.io";
constexpr std::string_view kTektonGroup = "tekton.dev";
constexpr std::string_view kTektonNamespace = "tekton-pipelines";

bool writes_object_of(const AdmissionRequest& request, std::string_view group) {
  return request.resource->group == group &&
         (request.operation == Operation::Create || request.operation == Operation::Update);
}

StatusResult<void> kueue_defaults(AdmissionRequest& request, const AdmissionContext& /*context*/) {
  if (writes_object_of(request, kKueueGroup) && request.operation == Operation::Create) {
    kueue::apply_defaults(request.object);
  }
  return {};
}

StatusResult<void> kueue_rules(AdmissionRequest& request, const AdmissionContext& /*context*/) {
  if (writes_object_of(request, kKueueGroup)) {
    const Value* old = request.operation == Operation::Update ? &request.old_object : nullptr;
    if (const auto verdict = kueue::validate(request.object, old); !verdict.ok()) {
      return apiserver::status::of(verdict.error());
    }
  }
  return {};
}

StatusResult<void> tekton_defaults(AdmissionRequest& request, const AdmissionContext& /*context*/) {
  if (writes_object_of(request, kTektonGroup) && request.subresource.empty()) {
    tekton::apply_defaults(request.object, request.operation == Operation::Create
                                               ? tekton::WriteKind::Create
                                               : tekton::WriteKind::Update);
  }
  return {};
}

StatusResult<void> tekton_rules(AdmissionRequest& request, const AdmissionContext& /*context*/) {
  if (request.resource->storage == "configmaps" && request.key.ns == kTektonNamespace &&
      request.operation != Operation::Delete) {
    if (const auto denial = tekton::validate_config(request.object)) {
      return apiserver::status::of(*denial);
    }
  }
  if (writes_object_of(request, kTektonGroup) && request.subresource.empty()) {
    const Value* old = request.operation == Operation::Update ? &request.old_object : nullptr;
    if (const auto denial = tekton::validate(request.object, old)) {
      return apiserver::status::of(*denial);
    }
  }
  return {};
}

class KueueConverter final : public apiserver::Converter {
 public:
  [[nodiscard]] StatusResult<Value> convert(const Value& object, std::string_view /*from_version*/,
                                            std::string_view to_version) const override {
    return kueue::convert(object, to_version);
  }
};

}  // namespace

const apiserver::Converter* embedded_converter(std::string_view group, std::string_view /*kind*/) {
  static const KueueConverter kConverter;
  return group == kKueueGroup ? &kConverter : nullptr;
}

Result<Value> queueing_config(const std::map<std::string, std::string>& environment) {
  ATHANOR_TRY(const kueue::Settings settings, kueue::parse_settings(environment));
  return api::encode(settings);
}

std::vector<const Operator*> embedded_operators() {
  return {&kueue::scheduler_operator(),
          &kueue::workload_operator(),
          &kueue::cluster_queue_operator(),
          &kueue::local_queue_operator(),
          &kueue::resource_flavor_operator(),
          &kueue::admission_check_operator(),
          &tekton::pipelinerun_operator(),
          &tekton::taskrun_operator(),
          &scheduler::scheduler_operator(),
          &nodes::kubelet_operator(),
          &nodes::node_operator(),
          &workloads::job_operator(),
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
  std::vector<Value> objects = tekton::config_objects();
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

std::vector<Webhook> embedded_webhooks(std::string_view system) {
  const std::span<const Webhook> webhooks = system == "kueue"    ? kueue::webhooks()
                                            : system == "tekton" ? tekton::webhooks()
                                                                 : std::span<const Webhook>();
  return {webhooks.begin(), webhooks.end()};
}

std::vector<AdmissionStep> embedded_admission() {
  return {{.name = "KueueWebhooks", .mutate = kueue_defaults, .validate = kueue_rules},
          {.name = "TektonWebhooks", .mutate = tekton_defaults, .validate = tekton_rules}};
}

}  // namespace athanor::lab
