// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/pod_resize.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "embedded/kinds/pods/pod_spec.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kContainerLists[] = {"containers", "initContainers"};
constexpr std::string_view kAmounts[] = {"requests", "limits"};
constexpr std::string_view kResizable[] = {"cpu", "memory"};

// Copies a member, or its absence.
void take_member(Value& to, std::string_view name, const Value& from) {
  if (const Value* member = from.find(name)) {
    to.set(name, *member);
  } else {
    to.erase(name);
  }
}

bool same_names(const Value& now, const Value& before) {
  bool same = now.size() == before.size();
  for (std::size_t i = 0; same && i < now.size(); ++i) {
    same = now[i]["name"] == before[i]["name"];
  }
  return same;
}

bool is_resized(std::string_view list, const Value& container) {
  return list == "containers" || container["restartPolicy"].as_string() == "Always";
}

void check_order(FieldErrors& errors, const Value& spec, const Value& old_spec) {
  for (const std::string_view list : kContainerLists) {
    const Value& now = spec[list];
    const Value& before = old_spec[list];
    if (now.size() != before.size()) {
      errors.push_back(FieldError::forbidden(
          below("spec", list), fmt::format("{} may not be added or removed on resize", list)));
      continue;
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i]["name"] != before[i]["name"]) {
        errors.push_back(FieldError::forbidden(
            at(below("spec", list), i) + ".name",
            fmt::format("{} may not be renamed or reordered on resize", list)));
      }
    }
  }
}

void check_removed(FieldErrors& errors, const Value& now, const Value& before,
                   const std::string& path) {
  for (const std::string_view amounts : kAmounts) {
    for (const std::string_view name : kResizable) {
      if (before[amounts].contains(name) && !now[amounts].contains(name)) {
        errors.push_back(FieldError::forbidden(
            below(path, amounts), fmt::format("resource {} cannot be removed", amounts)));
        break;
      }
    }
  }
}

// The container with its old amounts of cpu and memory.
Value without_resize(Value container, const Value& old_container) {
  Value resources = container["resources"];
  for (const std::string_view amounts : kAmounts) {
    Value list = resources[amounts];
    for (const std::string_view name : kResizable) {
      if (list.is_object() || old_container["resources"][amounts].contains(name)) {
        take_member(list, name, old_container["resources"][amounts]);
      }
    }
    if (list.empty() && !old_container["resources"].contains(amounts)) {
      resources.erase(amounts);
    } else {
      resources.set(amounts, std::move(list));
    }
  }
  if (resources.empty() && !old_container.contains("resources")) {
    container.erase("resources");
  } else {
    container.set("resources", std::move(resources));
  }
  return container;
}

void check_resized(FieldErrors& errors, Value spec, const Value& old_spec) {
  for (const std::string_view list : kContainerLists) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const Value& now = spec[list][i];
      const Value& before = old_spec[list][i];
      const std::string path = at(below("spec", list), i) + ".resources";
      if (is_resized(list, before)) {
        check_removed(errors, now["resources"], before["resources"], path);
        Value old_amounts = without_resize(now, before);
        spec.member(list).item(i) = std::move(old_amounts);
      } else if (now["resources"] != before["resources"]) {
        errors.push_back(
            FieldError::forbidden(path, "resources for non-sidecar init containers are immutable"));
      }
    }
  }
  if (spec != old_spec) {
    errors.push_back(FieldError::forbidden("spec", "only cpu and memory resources are mutable"));
  }
}

}  // namespace

Value resized_spec(const Value& spec, const Value& old_spec) {
  Value result = old_spec;
  for (const std::string_view list : kContainerLists) {
    if (!same_names(spec[list], old_spec[list])) {
      take_member(result, list, spec);
      continue;
    }
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      Value& container = result.member(list).item(i);
      take_member(container, "resources", spec[list][i]);
      take_member(container, "resizePolicy", spec[list][i]);
    }
  }
  take_member(result, "resources", spec);
  return result;
}

FieldErrors validate_pod_resize(const Value& pod, const Value& old_pod) {
  const Value& spec = pod["spec"];
  const Value& old_spec = old_pod["spec"];
  if (!spec["resources"].empty() || !old_spec["resources"].empty()) {
    return {FieldError::forbidden("[]", "pods with pod-level resources cannot be resized")};
  }
  FieldErrors errors;
  const std::string_view before = qos_class(old_spec);
  if (qos_class(spec) != before) {
    errors.push_back(FieldError::invalid("spec", before,
                                         "Pod QOS Class may not change as a result of resizing"));
  }
  const std::size_t known = errors.size();
  check_order(errors, spec, old_spec);
  if (errors.size() == known) {
    check_resized(errors, spec, old_spec);
  }
  return errors;
}

}  // namespace athanor::apiserver
