// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/node_kind.hpp"

#include <set>
#include <string>
#include <utility>

#include "embedded/kinds/resource_names.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
constexpr std::string_view kRoleLabel = "kubernetes.io/role";

std::string status_text(const Value& node) {
  const std::string_view ready =
      find_condition(node["status"]["conditions"], "Ready")["status"].as_string();
  std::string text = ready.empty() ? "Unknown" : ready == "True" ? "Ready" : "NotReady";
  if (node["spec"]["unschedulable"].as_bool()) {
    text += ",SchedulingDisabled";
  }
  return text;
}

Value roles_cell(const Value& node) {
  std::set<std::string> roles;
  for (const Member& label : node["metadata"]["labels"].members()) {
    if (label.key().starts_with(kRolePrefix) && label.key().size() > kRolePrefix.size()) {
      roles.emplace(label.key().substr(kRolePrefix.size()));
    } else if (label.key() == kRoleLabel && !label.value.as_string().empty()) {
      roles.insert(label.value.str());
    }
  }
  return roles.empty() ? Value(kNone) : Value(join({roles.begin(), roles.end()}, ","));
}

Value address_cell(const Value& node, std::string_view type) {
  for (const Value& address : node["status"]["addresses"].items()) {
    if (address["type"].as_string() == type) {
      return {address["address"].str()};
    }
  }
  return kNone;
}

}  // namespace

namespace {

// As the reference shows its own type.
Value shown_taint(const Value& taint) {
  return Value::object({{"Key", taint["key"].as_string()},
                        {"Value", taint["value"].as_string()},
                        {"Effect", taint["effect"].as_string()},
                        {"TimeAdded", taint["timeAdded"]}});
}

void check_taints(FieldErrors& errors, const Value& taints) {
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const std::string here = at("metadata.taints", i);  // so the reference calls them
    const Value& taint = taints[i];
    for (const std::string& wrong : qualified_name_errors(taint["key"].as_string())) {
      errors.push_back(FieldError::invalid(here + ".key", taint["key"].str(), wrong));
    }
    check_name(errors, here + ".value", taint["value"].as_string(), &validate_label_value);
    require_choice(errors, here + ".effect", taint["effect"],
                   {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (!seen.emplace(taint["key"].str(), taint["effect"].str()).second) {
      FieldError error = FieldError::duplicate(here, shown_taint(taint));
      error.detail += ": taints must be unique by key and effect pair";
      errors.push_back(std::move(error));
    }
  }
}

void check_amounts(FieldErrors& errors, const Value& status) {
  for (const std::string_view list : {"capacity", "allocatable"}) {
    for (const Member& amount : status[list].members()) {
      check_resource_amount(errors, below(below("status", list), amount.key()), amount.key(),
                            amount.value);
    }
  }
}

// Ranges of addresses, one of each family.
void check_ranges(FieldErrors& errors, const Value& ranges) {
  std::size_t newer = 0;
  const std::size_t before = errors.size();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    check_cidr(errors, at("spec.podCIDRs", i), ranges[i].as_string());
    newer += ranges[i].as_string().find(':') != std::string_view::npos ? 1U : 0U;
  }
  if (errors.size() == before && (ranges.size() > 2 || (ranges.size() == 2 && newer != 1))) {
    errors.push_back(FieldError::invalid("spec.podCIDRs", ranges,
                                         "may specify no more than one CIDR for each IP family"));
  }
}

}  // namespace

FieldErrors validate_node(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_taints(errors, object["spec"]["taints"]);
  check_amounts(errors, object["status"]);
  check_ranges(errors, object["spec"]["podCIDRs"]);
  return errors;
}

FieldErrors validate_node_update(const Value& object, const Value& old_object,
                                 const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  check_taints(errors, spec["taints"]);
  check_amounts(errors, object["status"]);
  check_ranges(errors, spec["podCIDRs"]);
  if (!old_spec["podCIDRs"].empty() && spec["podCIDRs"] != old_spec["podCIDRs"]) {
    errors.push_back(FieldError::forbidden(
        "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
  }
  if (!old_spec["providerID"].as_string().empty() && spec["providerID"] != old_spec["providerID"]) {
    errors.push_back(FieldError::forbidden(
        "spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  }
  std::set<std::pair<std::string, std::string>> seen;
  const Value& addresses = object["status"]["addresses"];
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string type = addresses[i]["type"].str();
    const std::string address = addresses[i]["address"].str();
    if (!seen.emplace(type, address).second) {
      errors.push_back(FieldError::duplicate(
          at("status.addresses", i), Value::object({{"Type", type}, {"Address", address}})));
    }
  }
  return errors;
}

namespace {

// What may be used is what is there, unless something else is said.
void default_allocatable(Value& object) {
  const Value capacity = object["status"]["capacity"];
  if (!capacity.empty() && object["status"]["allocatable"].is_null()) {
    object.member("status").set("allocatable", capacity);
  }
}

}  // namespace

void finish_node_update(Value& object, const Value& /*old_object*/,
                        const KindContext& /*context*/) {
  default_allocatable(object);
}

// One address range under two names, the newer one a list.
void default_node(Value& object, const KindContext& /*context*/) {
  const Value one = object["spec"]["podCIDR"];
  const Value many = object["spec"]["podCIDRs"];
  if (!one.as_string().empty() && (many.empty() || many[0] != one)) {
    object.member("spec").set("podCIDRs", Value::list({one}));
  } else if (one.as_string().empty() && !many.empty()) {
    object.member("spec").set("podCIDR", many[0]);
  }
  if (const Value& said = object["status"]["allocatable"]; said.is_object() && said.empty()) {
    object.member("status").erase("allocatable");  // the server says it later, and owns it not
    return;
  }
  default_allocatable(object);
}

Cells node_cells(const Value& object, Instant now) {
  const Value& info = object["status"]["nodeInfo"];
  return {name_cell(object),
          status_text(object),
          roles_cell(object),
          age_cell(object, now),
          info["kubeletVersion"].str(),
          address_cell(object, "InternalIP"),
          address_cell(object, "ExternalIP"),
          text_cell(info["osImage"], kUnknown),
          text_cell(info["kernelVersion"], kUnknown),
          text_cell(info["containerRuntimeVersion"], kUnknown)};
}

}  // namespace athanor::apiserver
