// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/rules/workload_rules.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kImmutable = "field is immutable";

bool is_reserved(const Value& workload) {
  return condition_is(workload["status"]["conditions"], "QuotaReserved", "True");
}

std::vector<std::string> pod_set_names(const Value& workload) {
  std::vector<std::string> names;
  for (const Value& pod_set : workload["spec"]["podSets"].items()) {
    names.push_back(pod_set["name"].is_null() ? "main" : pod_set["name"].str());
  }
  return names;
}

const Value& by_name(const Value& list, std::string_view name) {
  static const Value kNone;
  const auto items = list.items();
  const auto found = std::ranges::find_if(
      items, [&](const Value& one) { return one["name"].as_string() == name; });
  return found == items.end() ? kNone : *found;
}

// A container, or a pod spec with resources of its own.
void check_container(Errors& errors, const std::string& path, const Value& container) {
  for (const char* list : {"requests", "limits"}) {
    for (const Member& entry : container["resources"][std::string_view(list)].members()) {
      const std::string at = fmt::format("{}.resources.{}[{}]", path, list, entry.key());
      if (entry.key() == "pods") {
        invalid(errors, at, "\"pods\"", "the key is reserved for internal kueue use");
      }
      check_not_negative(errors, at, entry.value);
    }
  }
}

void check_pod_sets(Errors& errors, const Value& pod_sets) {
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const Value& spec = pod_sets[i].at({"template", "spec"});
    for (const char* list : {"initContainers", "containers"}) {
      const Value& containers = spec[std::string_view(list)];
      for (std::size_t j = 0; j < containers.size(); ++j) {
        check_container(errors, fmt::format("spec.podSets[{}].template.spec.{}[{}]", i, list, j),
                        containers[j]);
      }
    }
    check_container(errors, fmt::format("spec.podSets[{}].template.spec", i), spec);
  }
  const auto items = pod_sets.items();
  const auto partial = std::ranges::count_if(
      items, [](const Value& pod_set) { return !pod_set["minCount"].is_null(); });
  if (partial > 1) {
    invalid(errors, "spec.podSets", fmt::format("{}", partial),
            "at most one podSet can use minCount");
  }
}

// One that was like this before may change and converge.
void check_admission(Errors& errors, const Value& workload, const Value* old) {
  const auto lacks = [](const Value& one) {
    return is_reserved(one) && one["status"]["admission"].is_null();
  };
  if (lacks(workload) && (old == nullptr || !lacks(*old))) {
    errors.push_back(
        "status.admission: Required value: must be set while the QuotaReserved condition is true");
  }
}

void check_assignments(Errors& errors, const Value& workload) {
  const Value& assignments = workload["status"]["admission"]["podSetAssignments"];
  const std::vector<std::string> names = pod_set_names(workload);
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const std::string path = fmt::format("status.admission.podSetAssignments[{}]", i);
    const std::string name =
        assignments[i]["name"].is_null() ? "main" : assignments[i]["name"].str();
    if (std::ranges::find(names, name) == names.end()) {
      errors.push_back(fmt::format("{}.name: Not found: {}", path, json::quote(name)));
    }
    const std::int64_t count = assignments[i]["count"].as_int();
    for (const Member& usage : assignments[i]["resourceUsage"].members()) {
      const auto total = Quantity::parse(usage.value);
      if (total && count > 0 && total->milli_value() % count != 0) {
        invalid(errors, fmt::format("{}.resourceUsage[{}]", path, usage.key()),
                shown_quantity(usage.value), fmt::format("is not a multiple of {}", count));
      }
    }
  }
}

void check_reclaimable(Errors& errors, const Value& workload) {
  for (const Value& pods : workload["status"]["reclaimablePods"].items()) {
    const std::string name = pods["name"].str();
    const std::string path = fmt::format("status.reclaimablePods[{}]", name);
    const Value& pod_set = by_name(workload["spec"]["podSets"], name);
    if (pod_set.is_null()) {
      unsupported(errors, path + ".name", json::quote(name), pod_set_names(workload));
    } else if (pods["count"].as_int() > pod_set["count"].as_int(1)) {
      invalid(errors, path + ".count", fmt::format("{}", pods["count"].as_int()),
              fmt::format("should be less or equal to {}", pod_set["count"].as_int(1)));
    }
  }
}

void check_updates(Errors& errors, const Value& workload) {
  const Value& checks = workload["status"]["admissionChecks"];
  std::vector<std::string> names = pod_set_names(workload);
  std::ranges::sort(names);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Value& updates = checks[i]["podSetUpdates"];
    for (std::size_t j = 0; j < updates.size(); ++j) {
      const std::string path = fmt::format("status.admissionChecks[{}].podSetUpdates[{}]", i, j);
      const std::string name = updates[j]["name"].str();
      if (std::ranges::find(names, name) == names.end()) {
        unsupported(errors, path + ".name", json::quote(name), names);
      }
      check_tolerations(errors, path + ".tolerations", updates[j]["tolerations"]);
      check_annotations(errors, path + ".annotations", updates[j]["annotations"]);
      check_labels(errors, path + ".nodeSelector", updates[j]["nodeSelector"]);
      check_labels(errors, path + ".labels", updates[j]["labels"]);
    }
  }
}

void check_reclaimable_update(Errors& errors, const Value& workload, const Value& old) {
  const Value& pods = workload["status"]["reclaimablePods"];
  for (const Value& before : old["status"]["reclaimablePods"].items()) {
    const std::string name = before["name"].str();
    const std::string path = fmt::format("status.reclaimablePods[{}]", name);
    const Value& now = by_name(pods, name);
    if (now.is_null()) {
      errors.push_back(path + ": Required value: cannot be removed");
    } else if (now["count"].as_int() < before["count"].as_int()) {
      invalid(errors, path + ".count", fmt::format("{}", now["count"].as_int()),
              fmt::format("cannot be less than {}", before["count"].as_int()));
    }
  }
}

// What a check that is ready adds to pods stays.
void check_updates_unchanged(Errors& errors, const Value& workload, const Value& old) {
  const Value& before = old["status"]["admissionChecks"];
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Value& now =
        by_name(workload["status"]["admissionChecks"], before[i]["name"].as_string());
    if (before[i]["state"].as_string() == "Ready" && now["state"].as_string() == "Ready" &&
        !equivalent(now["podSetUpdates"], before[i]["podSetUpdates"])) {
      invalid(errors, fmt::format("status.admissionChecks[{}].podSetUpdates", i),
              json::print(now["podSetUpdates"]), kImmutable);
    }
  }
}

void check_update(Errors& errors, const Value& workload, const Value& old) {
  const Value& pod_sets = workload["spec"]["podSets"];
  if (is_reserved(old) && !equivalent(old["spec"]["podSets"], pod_sets)) {
    invalid(errors, "spec.podSets", json::print(pod_sets), kImmutable);
  }
  if (is_reserved(old) && is_reserved(workload)) {
    check_reclaimable_update(errors, workload, old);
  }
  const Value& admission = workload["status"]["admission"];
  const Value& before = old["status"]["admission"];
  if (!before.is_null() && !admission.is_null() && !equivalent(admission, before)) {
    invalid(errors, "status.admission", json::print(admission), kImmutable);
  }
  check_updates_unchanged(errors, workload, old);
}

}  // namespace

Errors check_workload(const Value& object, const Value* old) {
  Errors errors;
  check_pod_sets(errors, object["spec"]["podSets"]);
  if (is_reserved(object)) {
    check_admission(errors, object, old);
    check_assignments(errors, object);
  }
  check_reclaimable(errors, object);
  check_updates(errors, object);
  if (old != nullptr) {
    check_update(errors, object, *old);
  }
  return errors;
}

}  // namespace athanor::kueue
