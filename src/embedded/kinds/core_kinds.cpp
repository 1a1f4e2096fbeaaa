// SPDX-License-Identifier: Apache-2.0
// Namespaces, ServiceAccounts, Leases, and the table of the core kinds (docs/spec/apiserver.md 14).
#include <algorithm>
#include <array>

#include "embedded/kinds/config_data.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/event_kind.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/node_kind.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

void default_namespace(Value& object, const KindContext& /*context*/) {
  const Value name = object["metadata"]["name"];
  if (!name.as_string().empty() && object["metadata"]["labels"][kNameLabel] != name) {
    object.member("metadata").member("labels").set(kNameLabel, name);
  }
  edit_member(object, "status", [](Value& status) { default_to(status, "phase", "Active"); });
}

void prepare_namespace(Value& object, const KindContext& /*context*/) {
  const auto finalizers = object["spec"]["finalizers"].items();
  const bool present = std::any_of(finalizers.begin(), finalizers.end(), [](const Value& item) {
    return item.as_string() == "kubernetes";
  });
  if (!present) {
    object.member("spec").member("finalizers").push_back("kubernetes");
  }
}

// Only the finalize subresource changes the finalizers.
void prepare_namespace_update(Value& object, const Value& old_object, const KindContext& context) {
  if (context.subresource == "finalize" ||
      object["spec"]["finalizers"] == old_object["spec"]["finalizers"]) {
    return;
  }
  if (const Value* finalizers = old_object["spec"].find("finalizers")) {
    object.member("spec").set("finalizers", *finalizers);
  } else {
    object.member("spec").erase("finalizers");
  }
}

FieldErrors validate_namespace(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  for (const Value& finalizer : object["spec"]["finalizers"].items()) {
    const std::string_view name = finalizer.as_string();
    check_name(errors, "spec.finalizers", name, &validate_qualified_name);
    if (name.find('/') == std::string_view::npos &&
        !is_one_of(name, {"kubernetes", "orphan", "foregroundDeletion"})) {
      errors.push_back(
          FieldError::invalid("spec.finalizers", name,
                              "name is neither a standard finalizer name nor is it fully "
                              "qualified"));
    }
  }
  return errors;
}

// The phase says whether it goes.
FieldErrors validate_namespace_update(const Value& object, const Value& /*old_object*/,
                                      const KindContext& context) {
  FieldErrors errors;
  if (context.subresource != "status") {
    return errors;
  }
  const Value& phase = object["status"]["phase"];
  const bool goes = object["metadata"].contains("deletionTimestamp");
  if (phase.as_string() != (goes ? "Terminating" : "Active")) {
    errors.push_back(
        FieldError::invalid("status.Phase", phase.as_string(),
                            goes ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                                 : "may only be 'Active' if `deletionTimestamp` is empty"));
  }
  return errors;
}

Cells namespace_cells(const Value& object, Instant now) {
  return {name_cell(object), object["status"]["phase"].str(), age_cell(object, now)};
}

Cells name_and_age(const Value& object, Instant now) {
  return {name_cell(object), age_cell(object, now)};
}

FieldErrors validate_lease(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  if (const Value* seconds = spec.find("leaseDurationSeconds");
      seconds != nullptr && seconds->is_number() && seconds->as_int() <= 0) {
    errors.push_back(
        FieldError::invalid("spec.leaseDurationSeconds", *seconds, "must be greater than 0"));
  }
  if (spec["leaseTransitions"].as_int() < 0) {
    errors.push_back(FieldError::invalid("spec.leaseTransitions", spec["leaseTransitions"],
                                         "must be greater than or equal to 0"));
  }
  return errors;
}

FieldErrors validate_lease_update(const Value& object, const Value& /*old_object*/,
                                  const KindContext& context) {
  return validate_lease(object, context);
}

Cells lease_cells(const Value& object, Instant now) {
  return {name_cell(object), object["spec"]["holderIdentity"].str(), age_cell(object, now)};
}

Cells component_status_cells(const Value& object, Instant /*now*/) {
  const Value& healthy = find_condition(object["conditions"], "Healthy");
  const std::string_view status = healthy["status"].as_string();
  return {name_cell(object),
          status == "True"    ? "Healthy"
          : status == "False" ? "Unhealthy"
                              : "Unknown",
          healthy["message"].str(), healthy["error"].str()};
}

constexpr std::array kCoreRows = {
    KindRow{.group = "",
            .plural = "namespaces",
            .behaviour = {.apply_defaults = &default_namespace,
                          .prepare_create = &prepare_namespace,
                          .prepare_update = &prepare_namespace_update,
                          .validate_create = &validate_namespace,
                          .validate_update = &validate_namespace_update,
                          .cells = &namespace_cells}},
    KindRow{.group = "",
            .plural = "configmaps",
            .behaviour = {.validate_create = &validate_config_map,
                          .validate_update = &validate_config_map_update,
                          .cells = &config_map_cells}},
    KindRow{.group = "",
            .plural = "secrets",
            .behaviour = {.apply_defaults = &default_secret,
                          .validate_create = &validate_secret,
                          .validate_update = &validate_secret_update,
                          .warn = &warn_of_secret,
                          .cells = &secret_cells}},
    KindRow{.group = "", .plural = "serviceaccounts", .behaviour = {.cells = &name_and_age}},
    KindRow{.group = "",
            .plural = "nodes",
            .behaviour = {.apply_defaults = &default_node,
                          .finish_update = &finish_node_update,
                          .validate_create = &validate_node,
                          .validate_update = &validate_node_update,
                          .cells = &node_cells}},
    KindRow{.group = "",
            .plural = "events",
            .behaviour = {.validate_create = &validate_event,
                          .validate_update = &validate_event_update,
                          .cells = &event_cells}},
    KindRow{.group = "events.k8s.io",
            .plural = "events",
            .behaviour = {.validate_create = &validate_event,
                          .validate_update = &validate_event_update,
                          .cells = &event_cells}},
    KindRow{.group = "coordination.k8s.io",
            .plural = "leases",
            .behaviour = {.validate_create = &validate_lease,
                          .validate_update = &validate_lease_update,
                          .cells = &lease_cells}},
    KindRow{.group = "",
            .plural = "componentstatuses",
            .behaviour = {.cells = &component_status_cells}},
};

}  // namespace

std::span<const KindRow> core_rows() {
  return kCoreRows;
}

}  // namespace athanor::apiserver
