// SPDX-License-Identifier: Apache-2.0
// Field by field, as the table of docs/spec/kueue.md section 4 lists them.
#include "embedded/kueue/rules/conversion.hpp"

#include <utility>

namespace athanor::kueue {
namespace {

constexpr std::string_view kOld = "kueue.x-k8s.io/v1beta1";
constexpr std::string_view kNew = "kueue.x-k8s.io/v1beta2";
constexpr std::string_view kOldWorkloadClass = "kueue.x-k8s.io/workloadpriorityclass";
constexpr std::string_view kOldPodClass = "scheduling.k8s.io/priorityclass";

// Renames a member where it is present.
void rename(Value& object, std::string_view from, std::string_view to) {
  if (!object.is_object() || !object.contains(from)) {
    return;
  }
  Value value = object[from];
  object.erase(from);
  object.set(to, std::move(value));
}

Value* part(Value& object, std::string_view name) {
  return object[name].is_object() ? &object.member(name) : nullptr;
}

void workload_to_new(Value& object) {
  if (Value* spec = part(object, "spec")) {
    const Value name = (*spec)["priorityClassName"];
    const std::string_view source = (*spec)["priorityClassSource"].as_string();
    // A name without its source names nothing.
    if (name.is_string() && source == kOldWorkloadClass) {
      spec->set("priorityClassRef", Value::object({{"group", "kueue.x-k8s.io"},
                                                   {"kind", "WorkloadPriorityClass"},
                                                   {"name", name}}));
    } else if (name.is_string() && source == kOldPodClass) {
      spec->set("priorityClassRef",
                Value::object(
                    {{"group", "scheduling.k8s.io"}, {"kind", "PriorityClass"}, {"name", name}}));
    }
    spec->erase("priorityClassName");
    spec->erase("priorityClassSource");
  }
  if (Value* status = part(object, "status")) {
    rename(*status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds");
  }
}

void workload_to_old(Value& object) {
  if (Value* spec = part(object, "spec")) {
    const Value ref = (*spec)["priorityClassRef"];
    spec->erase("priorityClassRef");
    if (ref.is_object()) {
      const bool workload_class = ref["kind"].as_string() == "WorkloadPriorityClass";
      spec->set("priorityClassName", ref["name"]);
      spec->set("priorityClassSource", workload_class ? kOldWorkloadClass : kOldPodClass);
    }
  }
  if (Value* status = part(object, "status")) {
    rename(*status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds");
  }
}

void cluster_queue_to_new(Value& object) {
  if (Value* spec = part(object, "spec")) {
    rename(*spec, "cohort", "cohortName");
    // Values of the wrong type stay for the schema to refuse.
    const Value checks = (*spec)["admissionChecks"];
    const Value& strategy = (*spec)["admissionChecksStrategy"];
    // Both at once stay for the rules of v1beta1 to refuse.
    const bool fits = strategy.is_null() || (strategy.is_object() && strategy.empty());
    if (checks.is_list() && fits) {
      spec->erase("admissionChecks");
    }
    if (checks.is_list() && fits && !checks.empty()) {
      Value rules = Value::list();
      for (const Value& check : checks.items()) {
        rules.push_back(Value::object({{"name", check}}));
      }
      spec->set_path({"admissionChecksStrategy", "admissionChecks"}, std::move(rules));
    }
    if (Value* fungibility = part(*spec, "flavorFungibility")) {
      if ((*fungibility)["whenCanBorrow"].as_string() == "Borrow") {
        fungibility->set("whenCanBorrow", "MayStopSearch");
      }
      if ((*fungibility)["whenCanPreempt"].as_string() == "Preempt") {
        fungibility->set("whenCanPreempt", "MayStopSearch");
      }
    }
  }
  if (Value* status = part(object, "status")) {
    status->erase("pendingWorkloadsStatus");
    if (Value* sharing = part(*status, "fairSharing")) {
      sharing->erase("admissionFairSharingStatus");
    }
  }
}

void cluster_queue_to_old(Value& object) {
  if (Value* spec = part(object, "spec")) {
    rename(*spec, "cohortName", "cohort");
  }
}

void local_queue_to_new(Value& object) {
  if (Value* status = part(object, "status")) {
    rename(*status, "flavorUsage", "flavorsUsage");
    status->erase("flavors");
  }
}

void local_queue_to_old(Value& object) {
  if (Value* status = part(object, "status")) {
    rename(*status, "flavorsUsage", "flavorUsage");
  }
}

// v1beta1 has the way to the cluster in the spec itself.
void multi_kueue_cluster_to_new(Value& object) {
  Value* spec = part(object, "spec");
  if (spec == nullptr) {
    return;
  }
  for (const std::string_view name : {"kubeConfig", "clusterProfileRef"}) {
    if (spec->contains(name)) {
      const Value source = (*spec)[name];
      spec->erase(name);
      spec->set_path({"clusterSource", name}, source);
    }
  }
}

void multi_kueue_cluster_to_old(Value& object) {
  Value* spec = part(object, "spec");
  if (spec == nullptr || !(*spec)["clusterSource"].is_object()) {
    return;
  }
  const Value source = (*spec)["clusterSource"];
  spec->erase("clusterSource");
  for (const Member& member : source.members()) {
    spec->set(member.key(), member.value);
  }
}

}  // namespace

Value convert(const Value& object, std::string_view to_version) {
  Value result = object;
  result.set("apiVersion", to_version);
  const std::string_view from = object["apiVersion"].as_string();
  if (from == to_version) {
    return result;
  }
  const std::string_view kind = object["kind"].as_string();
  if (to_version == kNew && kind == "Workload") {
    workload_to_new(result);
  } else if (to_version == kOld && kind == "Workload") {
    workload_to_old(result);
  } else if (to_version == kNew && kind == "ClusterQueue") {
    cluster_queue_to_new(result);
  } else if (to_version == kOld && kind == "ClusterQueue") {
    cluster_queue_to_old(result);
  } else if (to_version == kNew && kind == "LocalQueue") {
    local_queue_to_new(result);
  } else if (to_version == kOld && kind == "LocalQueue") {
    local_queue_to_old(result);
  } else if (to_version == kNew && kind == "MultiKueueCluster") {
    multi_kueue_cluster_to_new(result);
  } else if (to_version == kOld && kind == "MultiKueueCluster") {
    multi_kueue_cluster_to_old(result);
  }
  return result;
}

}  // namespace athanor::kueue
