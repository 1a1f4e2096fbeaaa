// SPDX-License-Identifier: Apache-2.0
// v1alpha1 and v1.
#include "systems/numa/model/conversion.hpp"

#include <fmt/core.h>

#include "kube/text/json.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kOld = "nodetopology.openshift.io/v1alpha1";
constexpr std::string_view kNew = "nodetopology.openshift.io/v1";
// Holds spec and status of v1 as they were, and what they became.
constexpr std::string_view kKept = "config.numa-operator.openshift.io/v1-fields";

constexpr std::string_view kNewConfigMembers[] = {"infoRefreshPause", "tolerations"};
constexpr std::string_view kNewGroupMembers[] = {"poolName", "annotations"};
constexpr std::string_view kNewSchedulerMembers[] = {"cacheResyncDebug",     "schedulerInformer",
                                                     "cacheResyncDetection", "scoringStrategy",
                                                     "preemptionMode",       "replicas"};
constexpr std::string_view kNewStatusMembers[] = {"relatedObjects", "nodeGroups",
                                                  "cacheResyncPeriod"};

Value old_group(const Value& group) {
  Value result = group;
  for (const std::string_view name : kNewGroupMembers) {
    result.erase(name);
  }
  if (result["config"].is_object()) {
    for (const std::string_view name : kNewConfigMembers) {
      result.member("config").erase(name);
    }
  }
  return result;
}

Value to_old(const Value& object) {
  Value result = object;
  const bool scheduler = object["kind"].as_string() == "NUMAResourcesScheduler";
  if (object["spec"].is_object()) {
    Value& spec = result.member("spec");
    if (scheduler) {
      for (const std::string_view name : kNewSchedulerMembers) {
        spec.erase(name);
      }
    } else if (spec["nodeGroups"].is_list()) {
      Value groups = Value::list();
      for (const Value& group : object["spec"]["nodeGroups"].items()) {
        groups.push_back(old_group(group));
      }
      spec.set("nodeGroups", std::move(groups));
    }
  }
  if (object["status"].is_object()) {
    for (const std::string_view name : kNewStatusMembers) {
      result.member("status").erase(name);
    }
  }
  if (result["spec"] != object["spec"] || result["status"] != object["status"]) {
    const Value kept = Value::object({{"spec", object["spec"]},
                                      {"status", object["status"]},
                                      {"oldSpec", result["spec"]},
                                      {"oldStatus", result["status"]}});
    result.member("metadata").member("annotations").set(kKept, json::print(kept));
  }
  result.set("apiVersion", kOld);
  return result;
}

Value new_group(Value group) {
  const bool disabled = group["disablePodsFingerprinting"].as_bool();
  group.erase("disablePodsFingerprinting");
  if (disabled && !group["config"].contains("podsFingerprinting")) {
    group.member("config").set("podsFingerprinting", "Disabled");
  }
  return group;
}

Value upgraded_spec(const Value& old) {
  Value spec = old;
  if (spec["nodeGroups"].is_list()) {
    Value groups = Value::list();
    for (const Value& group : old["nodeGroups"].items()) {
      groups.push_back(new_group(group));
    }
    spec.set("nodeGroups", std::move(groups));
  }
  return spec;
}

// Restores members of v1 that v1alpha1 lacks, at the groups' positions.
void restore(const Value& kept, const Value& old, Value& fresh) {
  for (const Member& member : kept.members()) {
    if (!fresh.contains(member.key()) && !old.contains(member.key())) {
      fresh.set(member.key(), member.value);
    }
  }
}

void restore_spec(const Value& kept, Value& spec) {
  restore(kept["spec"], kept["oldSpec"], spec);
  const Value& before = kept["spec"]["nodeGroups"];
  const Value& shown = kept["oldSpec"]["nodeGroups"];
  for (std::size_t i = 0; i < spec["nodeGroups"].size() && i < before.size(); ++i) {
    Value& group = spec.member("nodeGroups").item(i);
    restore(before[i], shown[i], group);
    if (before[i]["config"].is_object() && group["config"].is_object()) {
      restore(before[i]["config"], shown[i]["config"], group.member("config"));
    }
  }
}

Value to_new(const Value& object) {
  Value result = object;
  if (object["spec"].is_object()) {
    result.set("spec", upgraded_spec(object["spec"]));
  }
  const Value& text = object["metadata"]["annotations"][kKept];
  if (text.is_string()) {
    // An annotation that people wrote is no reason to refuse the object.
    if (const auto kept = json::parse(text.as_string()); kept.ok() && kept->is_object()) {
      if (result["spec"].is_object()) {
        restore_spec(*kept, result.member("spec"));
      }
      if ((*kept)["status"].is_object()) {
        restore((*kept)["status"], (*kept)["oldStatus"], result.member("status"));
      }
    }
    result.member("metadata").member("annotations").erase(kKept);
    if (result["metadata"]["annotations"].empty()) {
      result.member("metadata").erase("annotations");
    }
  }
  result.set("apiVersion", kNew);
  return result;
}

}  // namespace

Result<Value> convert(const Value& object, std::string_view to_version) {
  if (object["apiVersion"].as_string() == to_version) {
    return object;
  }
  if (to_version == kOld) {
    return to_old(object);
  }
  if (to_version == kNew) {
    return to_new(object);
  }
  return Error::bad_request(fmt::format("{} is not served", to_version));
}

}  // namespace athanor::numa
