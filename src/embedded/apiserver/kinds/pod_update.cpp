// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/pod_update.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace athanor::apiserver {
namespace {

constexpr std::string_view kOnly =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

bool includes(const Value& list, const Value& item) {
  const auto items = list.items();
  return std::find(items.begin(), items.end(), item) != items.end();
}

void check_deadline(FieldErrors& errors, const Value& now, const Value& before) {
  constexpr std::string_view kField = "spec.activeDeadlineSeconds";
  if (before.is_null() || now == before) {
    return;
  }
  if (now.is_null()) {
    errors.push_back(FieldError::invalid(kField, Value(),
                                         "must not update from a positive integer to nil value"));
  } else if (now.as_int() > before.as_int()) {
    errors.push_back(
        FieldError::invalid(kField, now, "must be less than or equal to previous value"));
  }
}

Value without_seconds(Value toleration) {
  if (toleration.contains("tolerationSeconds")) {
    toleration.erase("tolerationSeconds");
  }
  return toleration;
}

void check_tolerations(FieldErrors& errors, const Value& now, const Value& before) {
  const auto items = now.items();
  for (const Value& old : before.items()) {
    const Value wanted = without_seconds(old);
    const bool kept = std::any_of(items.begin(), items.end(), [&](const Value& toleration) {
      return without_seconds(toleration) == wanted;
    });
    if (!kept) {
      errors.push_back(FieldError::forbidden(
          "spec.tolerations",
          "existing toleration can not be modified except its tolerationSeconds"));
      return;
    }
  }
}

void check_gates(FieldErrors& errors, const Value& now, const Value& before) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!includes(before, now[i])) {
      errors.push_back(FieldError::forbidden(
          fmt::format("spec.schedulingGates[{}].name", i),
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'",
                      now[i]["name"].as_string())));
    }
  }
}

// Every old label stays as it was.
bool narrows_labels(const Value& now, const Value& before) {
  const auto labels = before.members();
  return std::all_of(labels.begin(), labels.end(),
                     [&](const Member& label) { return now[label.key()] == label.value; });
}

// Each term keeps what it asked for and may ask for more; without old terms any are fine.
bool narrows_node_affinity(const Value& now, const Value& before) {
  const Value& old_terms = before["nodeSelectorTerms"];
  const Value& terms = now["nodeSelectorTerms"];
  if (old_terms.empty()) {
    return true;
  }
  if (terms.size() != old_terms.size()) {
    return false;
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (const std::string_view list : {"matchExpressions", "matchFields"}) {
      for (const Value& requirement : old_terms[i][list].items()) {
        if (!includes(terms[i][list], requirement)) {
          return false;
        }
      }
    }
  }
  return true;
}

// While gated, a pod's node selection may become narrower.
void take_narrowing(Value& spec, const Value& old_spec) {
  if (old_spec.contains("nodeSelector")) {  // has a rule of its own
    spec.set("nodeSelector", old_spec["nodeSelector"]);
  } else {
    spec.erase("nodeSelector");
  }
  const Value::Path path = {"affinity", "nodeAffinity",
                            "requiredDuringSchedulingIgnoredDuringExecution"};
  if (!narrows_node_affinity(spec.at(path), old_spec.at(path))) {
    return;
  }
  Value affinity = spec["affinity"];
  Value node = affinity["nodeAffinity"];
  const Value& old_node = old_spec["affinity"]["nodeAffinity"];
  // Preferences are free.
  if (node.is_object() || old_node.is_object()) {
    node = old_node;
    if (node.is_null()) {
      affinity.erase("nodeAffinity");
    } else {
      affinity.set("nodeAffinity", node);
    }
  }
  if (affinity.empty() && !old_spec.contains("affinity")) {
    spec.erase("affinity");
  } else {
    spec.set("affinity", std::move(affinity));
  }
}

// The new spec with everything that may change put back.
Value without_allowed_changes(Value spec, const Value& old_spec) {
  const auto restore = [&](std::string_view field) {
    if (const Value* old = old_spec.find(field)) {
      spec.set(field, *old);
    } else {
      spec.erase(field);
    }
  };
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value& containers = spec[list];
    const Value& old_containers = old_spec[list];
    if (containers.size() != old_containers.size()) {
      continue;
    }
    Value items = containers;
    for (std::size_t i = 0; i < items.size(); ++i) {
      items.item(i).set("image", old_containers[i]["image"]);
    }
    if (items.is_list()) {
      spec.set(list, std::move(items));
    }
  }
  restore("activeDeadlineSeconds");
  restore("schedulingGates");
  restore("tolerations");  // have a rule of their own
  if (old_spec["terminationGracePeriodSeconds"].as_int() < 0 &&
      spec["terminationGracePeriodSeconds"].as_int() == 1) {
    restore("terminationGracePeriodSeconds");
  }
  if (!old_spec["schedulingGates"].empty()) {
    take_narrowing(spec, old_spec);
  }
  return spec;
}

}  // namespace

FieldErrors validate_ephemeral_update(const Value& pod, const Value& old_pod) {
  FieldErrors errors;
  const Value& now = pod["spec"]["ephemeralContainers"];
  const Value& before = old_pod["spec"]["ephemeralContainers"];
  const auto items = now.items();
  for (const Value& old : before.items()) {
    const auto found = std::find_if(items.begin(), items.end(), [&](const Value& container) {
      return container["name"] == old["name"];
    });
    if (found == items.end() || *found != old) {
      errors.push_back(FieldError::forbidden(
          "spec.ephemeralContainers",
          fmt::format("existing ephemeral containers \"{}\" may not be {}\n",
                      old["name"].as_string(), found == items.end() ? "removed" : "changed")));
    }
  }
  return errors;
}

FieldErrors validate_pod_update(const Value& pod, const Value& old_pod) {
  FieldErrors errors;
  const Value& spec = pod["spec"];
  const Value& old_spec = old_pod["spec"];
  if (spec == old_spec) {
    return errors;
  }
  check_deadline(errors, spec["activeDeadlineSeconds"], old_spec["activeDeadlineSeconds"]);
  check_gates(errors, spec["schedulingGates"], old_spec["schedulingGates"]);
  check_tolerations(errors, spec["tolerations"], old_spec["tolerations"]);
  if (!old_spec["schedulingGates"].empty() &&
      !narrows_labels(spec["nodeSelector"], old_spec["nodeSelector"])) {
    errors.push_back(FieldError::invalid(
        "spec.nodeSelector", spec["nodeSelector"],
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
  }
  const Value rest = without_allowed_changes(spec, old_spec);
  if (rest != old_spec) {
    std::string changed;
    for (const Value* side : {&rest, &old_spec}) {
      for (const Member& member : side->members()) {
        const std::string name = fmt::format("\nspec.{}", member.key());
        if (rest[member.key()] != old_spec[member.key()] &&
            changed.find(name) == std::string::npos) {
          changed += name;
        }
      }
    }
    errors.push_back(FieldError::forbidden("spec", std::string(kOnly) + changed));
  }
  return errors;
}

}  // namespace athanor::apiserver
