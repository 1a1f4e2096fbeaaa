// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/node_kind.hpp"

#include <set>
#include <utility>

#include "kube/condition.hpp"

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

FieldErrors validate_node(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  std::set<std::pair<std::string, std::string>> seen;
  const Value& taints = object["spec"]["taints"];
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const std::string here = at("metadata.taints", i);  // so the reference calls them
    const Value& taint = taints[i];
    for (const std::string& wrong : qualified_name_errors(taint["key"].as_string())) {
      errors.push_back(FieldError::invalid(here + ".key", taint["key"].str(), wrong));
    }
    check_name(errors, here + ".value", taint["value"].as_string(), &validate_label_value);
    if (require(errors, here + ".effect", taint["effect"])) {
      check_choice(errors, here + ".effect", taint["effect"],
                   {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
    if (!seen.emplace(taint["key"].str(), taint["effect"].str()).second) {
      FieldError error = FieldError::duplicate(here, taint);
      error.detail += ": taints must be unique by key and effect pair";
      errors.push_back(std::move(error));
    }
  }
  for (const std::string_view list : {"capacity", "allocatable"}) {
    for (const Member& amount : object["status"][list].members()) {
      check_quantity(errors, at(below("status", list), amount.key()), amount.value);
    }
  }
  return errors;
}

FieldErrors validate_node_update(const Value& object, const Value& old_object,
                                 const KindContext& context) {
  FieldErrors errors = validate_node(object, context);
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  if (!old_spec["podCIDRs"].empty() && spec["podCIDRs"] != old_spec["podCIDRs"]) {
    errors.push_back(FieldError::forbidden(
        "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
  }
  if (!old_spec["providerID"].as_string().empty() && spec["providerID"] != old_spec["providerID"]) {
    errors.push_back(FieldError::forbidden(
        "spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  }
  return errors;
}

// One address range under two names, the newer one a list.
void default_node(Value& object, const KindContext& /*context*/) {
  const Value one = object["spec"]["podCIDR"];
  const Value many = object["spec"]["podCIDRs"];
  if (!one.as_string().empty() && many.empty()) {
    object.member("spec").set("podCIDRs", Value::list({one}));
  } else if (one.as_string().empty() && !many.empty()) {
    object.member("spec").set("podCIDR", many[0]);
  }
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
