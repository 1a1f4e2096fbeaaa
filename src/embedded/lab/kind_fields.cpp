// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/kind_fields.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"

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
    {"apps.v1.StatefulSetSpec", Done,
     "minReadySeconds ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy replicas "
     "revisionHistoryLimit selector serviceName template updateStrategy volumeClaimTemplates"},
    {"apps.v1.DeploymentSpec", Done,
     "minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector "
     "strategy template"},
    {"apps.v1.DaemonSetSpec", Done,
     "minReadySeconds revisionHistoryLimit selector template updateStrategy"},
    {"apps.v1.ReplicaSetSpec", Done, "minReadySeconds replicas selector template"},
};

// Where the pod's spec of a resource is, and its own type in the table.
struct KindPlace {
  std::string_view resource{};
  std::string_view type{};
  std::string_view pod{};  // path of a pod's spec; empty: none
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
};

const Value& value_at(const Value& object, std::string_view path) {
  const Value* found = &object;
  for (const std::string_view name : words_of(path, '.')) {
    found = &(*found)[name];
  }
  return *found;
}

bool is_asked_for(const Value& value) {
  const bool empty = ((value.is_object() || value.is_list()) && value.empty()) ||
                     (value.is_string() && value.as_string().empty());
  return !value.is_null() && !empty && value != Value(0) && value != Value(false);
}

}  // namespace

std::optional<nodes::FieldTreatment> kind_field(std::string_view type, std::string_view field) {
  for (const KindRule& rule : kKindRules) {
    const auto fields = words_of(rule.fields, ' ');
    if (rule.type == type && std::ranges::find(fields, field) != fields.end()) {
      return rule.treatment;
    }
  }
  return std::nullopt;
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
  const auto place = std::ranges::find(kPlaces, resource, &KindPlace::resource);
  if (place == std::end(kPlaces)) {
    return;
  }
  for (const Member& member : object["spec"].members()) {
    if (kind_field(place->type, member.key()) == Noted && is_asked_for(member.value)) {
      warnings.push_back(fmt::format("spec.{}: has no effect in this lab", member.key()));
    }
  }
  if (place->pod.empty()) {
    return;
  }
  constexpr std::string_view kSpec = "spec";
  for (const std::string& field : nodes::noted_fields(value_at(object, place->pod))) {
    warnings.push_back(fmt::format("{}{}: has no effect on emulated nodes", place->pod,
                                   field.substr(kSpec.size())));
  }
}

}  // namespace athanor::lab
