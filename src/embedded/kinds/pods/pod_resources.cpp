// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/pod_resources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/containers.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

void add_amounts(Amounts& amounts, const Value& more) {
  for (const Member& amount : more.members()) {
    if (const auto quantity = Quantity::parse(amount.value)) {
      const auto [entry, made] = amounts.emplace(amount.key(), *quantity);
      if (!made) {
        entry->second += *quantity;
      }
    }
  }
}

void raise_amounts(Amounts& amounts, const Amounts& other) {
  for (const auto& [name, quantity] : other) {
    const auto [entry, made] = amounts.emplace(name, quantity);
    if (!made && entry->second < quantity) {
      entry->second = quantity;
    }
  }
}

// Huge pages cannot be overcommitted: their requests come from the limits.
void default_pod_requests(Value& resources, const Amounts& of_containers) {
  if (resources["limits"].empty()) {
    return;
  }
  const Value limits = resources["limits"];
  edit_member(resources, "requests", [&](Value& requests) {
    for (const auto& [name, quantity] : of_containers) {
      if (is_pod_level_resource(name) && !name.starts_with(kHugePages)) {
        default_to(requests, name, quantity.text());
      }
    }
    for (const Member& limit : limits.members()) {
      if (is_pod_level_resource(limit.key())) {
        default_to(requests, limit.key(), limit.value);
      }
    }
  });
}

void default_huge_page_limits(Value& resources, const Amounts& of_containers) {
  for (const auto& [name, quantity] : of_containers) {
    if (name.starts_with(kHugePages)) {
      const std::string text = quantity.text();
      edit_member(resources, "limits", [&](Value& limits) { default_to(limits, name, text); });
    }
  }
}

void check_pod_level_resource(FieldErrors& errors, const std::string& path, std::string_view name) {
  if (check_resource_name(errors, path, name) && !is_pod_level_resource(name)) {
    errors.push_back(FieldError::not_supported(path, name, {"cpu", "hugepages-", "memory"}));
  }
}

// What the pod states covers all of its containers together.
void check_sum(FieldErrors& errors, const Value& pod_spec, std::string_view list,
               const std::string& path) {
  for (const auto& [name, sum] : container_amounts(pod_spec, list)) {
    const auto stated = Quantity::parse(pod_spec["resources"][list][name]);
    const bool counts = list == "requests" || name.starts_with(kHugePages);
    if (counts && is_pod_level_resource(name) && stated && sum > *stated) {
      errors.push_back(FieldError::invalid(
          at(below(path, list), name), stated->text(),
          fmt::format("must be greater than or equal to aggregate container {} of {}", list,
                      sum.text())));
    }
  }
}

void check_limits_of_containers(FieldErrors& errors, const Value& pod_spec,
                                const std::string& path) {
  const Value& containers = pod_spec["containers"];
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (const Member& limit : containers[i]["resources"]["limits"].members()) {
      const auto asked = Quantity::parse(limit.value);
      const auto stated = Quantity::parse(pod_spec["resources"]["limits"][limit.key()]);
      if (asked && stated && *asked > *stated) {
        // The reference names the field so.
        errors.push_back(FieldError::invalid(
            at(at(path + ".containers", i), limit.key()) + ".limits", asked->text(),
            fmt::format("must be less than or equal to pod limits of {}", stated->text())));
      }
    }
  }
}

}  // namespace

bool is_pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePages);
}

bool has_pod_level_resources(const Value& pod_spec) {
  const auto states = [&](std::string_view list) {
    const auto amounts = pod_spec["resources"][list].members();
    return std::any_of(amounts.begin(), amounts.end(),
                       [](const Member& amount) { return is_pod_level_resource(amount.key()); });
  };
  return states("requests") || states("limits");
}

Amounts container_amounts(const Value& pod_spec, std::string_view list) {
  Amounts total;
  for (const Value& container : pod_spec["containers"].items()) {
    add_amounts(total, container["resources"][list]);
  }
  Amounts sidecars;
  Amounts highest;
  for (const Value& container : pod_spec["initContainers"].items()) {
    const Value& amounts = container["resources"][list];
    if (container["restartPolicy"].as_string() == "Always") {
      add_amounts(total, amounts);
      add_amounts(sidecars, amounts);
      raise_amounts(highest, sidecars);
    } else {
      Amounts together = sidecars;
      add_amounts(together, amounts);
      raise_amounts(highest, together);
    }
  }
  raise_amounts(total, highest);
  return total;
}

Amounts pod_level_amounts(const Value& pod_spec, std::string_view list) {
  Amounts amounts = container_amounts(pod_spec, list);
  for (const Member& stated : pod_spec["resources"][list].members()) {
    const auto quantity = Quantity::parse(stated.value);
    if (quantity && is_pod_level_resource(stated.key())) {
      amounts.insert_or_assign(std::string(stated.key()), *quantity);
    }
  }
  return amounts;
}

void default_pod_resources(Value& pod_spec) {
  if (!has_pod_level_resources(pod_spec)) {
    return;
  }
  const Amounts limits = container_amounts(pod_spec, "limits");
  const Amounts requests = container_amounts(pod_spec, "requests");
  edit_member(pod_spec, "resources", [&](Value& resources) {
    default_huge_page_limits(resources, limits);
    default_pod_requests(resources, requests);
  });
}

void check_pod_resources(FieldErrors& errors, const Value& pod_spec, const std::string& path) {
  const Value& resources = pod_spec["resources"];
  if (resources.is_null()) {
    return;
  }
  const std::string here = path + ".resources";
  if (pod_spec["os"]["name"].as_string() == "windows") {
    errors.push_back(FieldError::forbidden(here, "may not be set for a windows pod"));
    return;
  }
  if (!resources["claims"].empty()) {
    errors.push_back(
        FieldError::forbidden(here + ".claims", "claims cannot be set for Resources at pod-level"));
  }
  check_resources(errors, resources, here, &check_pod_level_resource);
  check_sum(errors, pod_spec, "requests", here);
  check_sum(errors, pod_spec, "limits", here);
  check_limits_of_containers(errors, pod_spec, here);
}

}  // namespace athanor::apiserver
