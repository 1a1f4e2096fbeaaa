// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/kind_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/ascii.hpp"
#include "embedded/lab/custom_fields.hpp"
#include "kube/schema/types.hpp"

namespace athanor::lab {
namespace {

using enum nodes::FieldTreatment;

struct KindRule {
  std::string_view type{};
  nodes::FieldTreatment treatment = Done;
  std::string_view fields{};  // separated by blanks
};

constexpr KindRule kKindRules[] = {
    {"core.v1.ServiceSpec", Done,
     "clusterIP clusterIPs externalIPs externalName ipFamilies ipFamilyPolicy ports "
     "publishNotReadyAddresses selector sessionAffinity sessionAffinityConfig type"},
    // All nodes and pods are on one machine.
    {"core.v1.ServiceSpec", Emulated,
     "allocateLoadBalancerNodePorts externalTrafficPolicy internalTrafficPolicy "
     "trafficDistribution"},
    {"core.v1.ServiceSpec", Noted,
     "healthCheckNodePort loadBalancerClass loadBalancerIP loadBalancerSourceRanges"},
    {"core.v1.ServicePort", Done, "name nodePort port protocol targetPort"},
    {"core.v1.ServicePort", Emulated, "appProtocol"},
    {"core.v1.SessionAffinityConfig", Done, "clientIP"},
    {"core.v1.ClientIPConfig", Done, "timeoutSeconds"},
    {"core.v1.VolumeResourceRequirements", Done, "limits requests"},
    {"core.v1.PersistentVolumeClaim", Whole, "apiVersion kind metadata status"},
    {"core.v1.PersistentVolumeClaim", Done, "spec"},
    // Its spec is in the table of pods (nodes/pod_fields.hpp).
    {"core.v1.PodTemplateSpec", Whole, "metadata spec"},
    {"core.v1.PersistentVolumeClaimSpec", Done,
     "resources selector storageClassName volumeAttributesClassName volumeName"},
    {"core.v1.PersistentVolumeClaimSpec", Emulated, "accessModes volumeMode"},
    {"core.v1.PersistentVolumeClaimSpec", Noted, "dataSource dataSourceRef"},
    {"batch.v1.JobSpec", Done,
     "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy "
     "manualSelector maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector "
     "successPolicy suspend template ttlSecondsAfterFinished"},
    {"batch.v1.CronJobSpec", Done,
     "concurrencyPolicy failedJobsHistoryLimit jobTemplate schedule startingDeadlineSeconds "
     "successfulJobsHistoryLimit suspend timeZone"},
    {"batch.v1.JobTemplateSpec", Whole, "metadata"},
    {"batch.v1.JobTemplateSpec", Done, "spec"},
    {"batch.v1.PodFailurePolicy", Done, "rules"},
    {"batch.v1.PodFailurePolicyRule", Done, "action onExitCodes onPodConditions"},
    {"batch.v1.PodFailurePolicyOnExitCodesRequirement", Done, "containerName operator values"},
    {"batch.v1.PodFailurePolicyOnPodConditionsPattern", Done, "status type"},
    {"batch.v1.SuccessPolicy", Done, "rules"},
    {"batch.v1.SuccessPolicyRule", Done, "succeededCount succeededIndexes"},
    {"apps.v1.StatefulSetSpec", Done,
     "minReadySeconds ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy replicas "
     "revisionHistoryLimit selector serviceName template updateStrategy volumeClaimTemplates"},
    {"apps.v1.StatefulSetOrdinals", Done, "start"},
    {"apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", Done, "whenDeleted whenScaled"},
    {"apps.v1.StatefulSetUpdateStrategy", Done, "rollingUpdate type"},
    {"apps.v1.RollingUpdateStatefulSetStrategy", Done, "maxUnavailable partition"},
    {"apps.v1.DeploymentStrategy", Done, "rollingUpdate type"},
    {"apps.v1.RollingUpdateDeployment", Done, "maxSurge maxUnavailable"},
    {"apps.v1.DaemonSetUpdateStrategy", Done, "rollingUpdate type"},
    {"apps.v1.RollingUpdateDaemonSet", Done, "maxSurge maxUnavailable"},
    {"apps.v1.DeploymentSpec", Done,
     "minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector "
     "strategy template"},
    {"apps.v1.DaemonSetSpec", Done,
     "minReadySeconds revisionHistoryLimit selector template updateStrategy"},
    {"apps.v1.ReplicaSetSpec", Done, "minReadySeconds replicas selector template"},

    {"resource.v1.ResourceClaimSpec", Done, "devices"},
    {"resource.v1.ResourceClaimTemplateSpec", Done, "spec"},
    {"resource.v1.ResourceClaimTemplateSpec", Whole, "metadata"},
    {"resource.v1.DeviceClaim", Done, "config constraints requests"},
    {"resource.v1.DeviceClaimConfiguration", Done, "opaque requests"},
    {"resource.v1.DeviceClassConfiguration", Done, "opaque"},
    {"resource.v1.OpaqueDeviceConfiguration", Whole, "driver parameters"},
    {"resource.v1.DeviceConstraint", Done, "distinctAttribute matchAttribute requests"},
    {"resource.v1.DeviceRequest", Done, "exactly firstAvailable name"},
    {"resource.v1.ExactDeviceRequest", Done,
     "adminAccess allocationMode capacity count deviceClassName selectors tolerations"},
    {"resource.v1.DeviceSubRequest", Done,
     "allocationMode capacity count deviceClassName name selectors tolerations"},
    {"resource.v1.CapacityRequirements", Done, "requests"},
    {"resource.v1.DeviceSelector", Done, "cel"},
    {"resource.v1.CELDeviceSelector", Done, "expression"},
    {"resource.v1.DeviceToleration", Done, "effect key operator value"},
    // No pod is evicted from a device.
    {"resource.v1.DeviceToleration", Noted, "tolerationSeconds"},
    {"resource.v1.DeviceClassSpec", Done, "config extendedResourceName selectors"},
    {"resource.v1.ResourceSliceSpec", Done,
     "allNodes devices driver nodeName perDeviceNodeSelection pool sharedCounters"},
    {"resource.v1.ResourceSliceSpec", Whole, "nodeSelector"},
    {"resource.v1.ResourcePool", Done, "generation name resourceSliceCount"},
    {"resource.v1.CounterSet", Done, "counters name"},
    {"resource.v1.Counter", Done, "value"},
    {"resource.v1.DeviceCounterConsumption", Done, "counterSet counters"},
    {"resource.v1.Device", Done,
     "allNodes attributes capacity consumesCounters name nodeName taints"},
    {"resource.v1.Device", Whole, "nodeSelector"},
    // A device with binding conditions is given to no claim.
    {"resource.v1.Device", Noted,
     "allowMultipleAllocations bindingConditions bindingFailureConditions bindsToNode"},
    {"resource.v1.DeviceAttribute", Done, "bool int string version"},
    {"resource.v1.DeviceCapacity", Done, "value"},
    {"resource.v1.DeviceCapacity", Noted, "requestPolicy"},
    {"resource.v1.DeviceTaint", Done, "effect key value"},
    {"resource.v1.DeviceTaint", Emulated, "timeAdded"},
};

// Where a pod's spec of a resource is, and its own type in the table. A resource with several pods
// has several places.
struct KindPlace {
  std::string_view resource{};
  std::string_view type{};
  std::string_view pod{};  // path of a pod's spec, * for all of a list or map; empty: none
};
constexpr KindPlace kPlaces[] = {
    {"pods", "", "spec"},
    {"services", "core.v1.ServiceSpec", ""},
    {"persistentvolumeclaims", "core.v1.PersistentVolumeClaimSpec", ""},
    {"jobs.batch", "batch.v1.JobSpec", "spec.template.spec"},
    {"cronjobs.batch", "batch.v1.CronJobSpec", "spec.jobTemplate.spec.template.spec"},
    {"statefulsets.apps", "apps.v1.StatefulSetSpec", "spec.template.spec"},
    {"deployments.apps", "apps.v1.DeploymentSpec", "spec.template.spec"},
    {"daemonsets.apps", "apps.v1.DaemonSetSpec", "spec.template.spec"},
    {"replicasets.apps", "apps.v1.ReplicaSetSpec", "spec.template.spec"},
    {"replicationcontrollers", "", "spec.template.spec"},
    {"podtemplates", "", "template.spec"},
    {"jobsets.jobset.x-k8s.io", "", "spec.replicatedJobs.*.template.spec.template.spec"},
    {"leaderworkersets.leaderworkerset.x-k8s.io", "",
     "spec.leaderWorkerTemplate.leaderTemplate.spec"},
    {"leaderworkersets.leaderworkerset.x-k8s.io", "",
     "spec.leaderWorkerTemplate.workerTemplate.spec"},
    {"pytorchjobs.kubeflow.org", "", "spec.pytorchReplicaSpecs.*.template.spec"},
    {"rayclusters.ray.io", "", "spec.headGroupSpec.template.spec"},
    {"rayclusters.ray.io", "", "spec.workerGroupSpecs.*.template.spec"},
    {"rayjobs.ray.io", "", "spec.rayClusterSpec.headGroupSpec.template.spec"},
    {"rayjobs.ray.io", "", "spec.rayClusterSpec.workerGroupSpecs.*.template.spec"},
    {"resourceclaims.resource.k8s.io", "resource.v1.ResourceClaimSpec", ""},
    {"resourceclaimtemplates.resource.k8s.io", "resource.v1.ResourceClaimTemplateSpec", ""},
    {"deviceclasses.resource.k8s.io", "resource.v1.DeviceClassSpec", ""},
    {"resourceslices.resource.k8s.io", "resource.v1.ResourceSliceSpec", ""},
};

// Adds a warning for each field without effect of the pods below `value`. `names` leads to their
// specs, `path` to the value.
void add_noted_pods(const Value& value, std::span<const std::string_view> names,
                    const std::string& path, std::vector<std::string>& warnings) {
  if (names.empty()) {
    constexpr std::string_view kSpec = "spec";
    for (const std::string& field : nodes::noted_fields(value)) {
      warnings.push_back(
          fmt::format("{}{}: has no effect on emulated nodes", path, field.substr(kSpec.size())));
    }
    return;
  }
  const auto rest = names.subspan(1);
  if (names.front() != "*") {
    add_noted_pods(value[names.front()], rest,
                   fmt::format("{}{}{}", path, path.empty() ? "" : ".", names.front()), warnings);
    return;
  }
  for (std::size_t i = 0; i < value.size() && value.is_list(); ++i) {
    add_noted_pods(value[i], rest, fmt::format("{}[{}]", path, i), warnings);
  }
  for (const Member& one : value.members()) {
    add_noted_pods(one.value, rest, fmt::format("{}[{}]", path, one.key()), warnings);
  }
}

bool is_asked_for(const Value& value) {
  const bool empty = ((value.is_object() || value.is_list()) && value.empty()) ||
                     (value.is_string() && value.as_string().empty());
  return !value.is_null() && !empty && value != Value(0) && value != Value(false);
}

// The type that a field has, or its items or values; empty: none with a name.
struct TypeBelow {
  std::string type{};
  bool map = false;
};

TypeBelow type_below(std::string_view type, std::string_view field) {
  constexpr std::string_view kPrefix = "io.k8s.api.";
  const SchemaPtr schema = BuiltinTypes::get().by_name(type);
  const SchemaField* found = schema != nullptr ? schema->field(field) : nullptr;
  SchemaPtr below = found != nullptr ? found->schema : nullptr;
  bool map = false;
  while (below != nullptr && below->name.empty()) {
    map = map || below->additional != nullptr;
    below = below->items != nullptr ? below->items : below->additional;
  }
  if (below == nullptr || !below->name.starts_with(kPrefix)) {
    return {};
  }
  return {.type = below->name.substr(kPrefix.size()), .map = map};
}

void add_noted(std::string_view type, const Value& value, const std::string& path,
               std::vector<std::string>& warnings);

void add_noted_below(const TypeBelow& below, const Value& value, const std::string& path,
                     std::vector<std::string>& warnings) {
  if (value.is_list()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_noted(below.type, value[i], fmt::format("{}[{}]", path, i), warnings);
    }
  } else if (below.map) {
    for (const Member& one : value.members()) {
      add_noted(below.type, one.value, fmt::format("{}[{}]", path, one.key()), warnings);
    }
  } else {
    add_noted(below.type, value, path, warnings);
  }
}

void add_noted(std::string_view type, const Value& value, const std::string& path,
               std::vector<std::string>& warnings) {
  for (const Member& member : value.members()) {
    const auto treatment = kind_field(type, member.key());
    const std::string here = fmt::format("{}.{}", path, member.key());
    if (treatment == Noted && is_asked_for(member.value)) {
      warnings.push_back(here + ": has no effect in this lab");
    } else if (treatment == Done || treatment == Emulated) {
      if (const TypeBelow below = type_below(type, member.key()); !below.type.empty()) {
        add_noted_below(below, member.value, here, warnings);
      }
    }
  }
}

// The addresses of Services carry TCP and UDP (nodes/network).
void add_unserved_ports(std::string_view resource, const Value& ports,
                        std::vector<std::string>& warnings) {
  for (std::size_t i = 0; resource == "services" && i < ports.size(); ++i) {
    if (ports[i]["protocol"].as_string() == "SCTP") {
      warnings.push_back(fmt::format("spec.ports[{}].protocol: SCTP is not served in this lab", i));
    }
  }
}

}  // namespace

std::optional<nodes::FieldTreatment> kind_field(std::string_view type, std::string_view field) {
  for (const KindRule& rule : kKindRules) {
    if (rule.type != type) {
      continue;
    }
    const auto fields = words_of(rule.fields, ' ');
    if (std::ranges::find(fields, field) != fields.end()) {
      return rule.treatment;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> kind_fields(std::string_view type) {
  std::vector<std::string_view> fields;
  for (const KindRule& rule : kKindRules) {
    if (rule.type == type) {
      std::ranges::copy(words_of(rule.fields, ' '), std::back_inserter(fields));
    }
  }
  return fields;
}

std::vector<std::string_view> kind_types() {
  std::vector<std::string_view> types;
  for (const KindRule& rule : kKindRules) {
    if (types.empty() || types.back() != rule.type) {
      types.push_back(rule.type);
    }
  }
  return types;
}

void warn_of_fields(std::string_view resource, const Value& object,
                    std::vector<std::string>& warnings) {
  warn_of_custom_fields(resource, object, warnings);
  for (const KindPlace& place : kPlaces) {
    if (place.resource != resource) {
      continue;
    }
    add_noted(place.type, object["spec"], "spec", warnings);
    if (place.pod.empty()) {
      add_unserved_ports(resource, object["spec"]["ports"], warnings);
    } else {
      add_noted_pods(object, words_of(place.pod, '.'), "", warnings);
    }
  }
}

}  // namespace athanor::lab
