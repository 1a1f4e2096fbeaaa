// SPDX-License-Identifier: Apache-2.0
// Volumes, claims, storage classes and what CSI drivers say of themselves (docs/spec/apiserver.md
// 14).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/pods/volume_rules.hpp"
#include "embedded/kinds/pods/volume_warnings.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";
std::string short_modes(const Value& modes) {
  std::vector<std::string> parts;
  for (const Value& mode : modes.items()) {
    const std::string_view text = mode.as_string();
    parts.emplace_back(text == "ReadWriteOnce"      ? "RWO"
                       : text == "ReadOnlyMany"     ? "ROX"
                       : text == "ReadWriteMany"    ? "RWX"
                       : text == "ReadWriteOncePod" ? "RWOP"
                                                    : "");
  }
  return join(parts, ",");
}

std::string phase_text(const Value& object) {
  return object["metadata"].contains("deletionTimestamp") ? "Terminating"
                                                          : object["status"]["phase"].str();
}

void default_claim(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) { default_to(spec, "volumeMode", "Filesystem"); });
  edit_member(object, "status", [](Value& status) { default_to(status, "phase", "Pending"); });
}

FieldErrors validate_claim(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_claim_spec(errors, object["spec"], "spec");
  return errors;
}

void warn_of_claim_object(const Value& object, const Value& /*old_object*/,
                          const KindContext& context) {
  if (!context.subresource.empty()) {
    return;
  }
  warn_of_claim(object["spec"], "spec", *context.warnings);
}

FieldErrors validate_claim_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors;
  if (!context.subresource.empty() || object["spec"] == old_object["spec"]) {
    return errors;
  }
  append(errors, validate_claim(object, context));
  Value spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  const auto restore = [&](std::string_view field) {
    if (const Value* old = old_spec.find(field)) {
      spec.set(field, *old);
    } else {
      spec.erase(field);
    }
  };
  if (old_spec["volumeName"].as_string().empty()) {
    restore("volumeName");
  }
  if (old_spec["storageClassName"].is_null()) {
    restore("storageClassName");  // the default class, given later
  }
  restore("volumeAttributesClassName");
  const auto wanted = Quantity::parse(spec["resources"]["requests"]["storage"]);
  const auto before = Quantity::parse(old_spec["resources"]["requests"]["storage"]);
  const bool bound = old_object["status"]["phase"].as_string() == "Bound";
  if (wanted && before && *wanted >= *before && bound) {
    spec.set_path({"resources", "requests", "storage"},
                  old_spec["resources"]["requests"]["storage"]);
  }
  if (spec != old_spec) {
    errors.push_back(
        FieldError::forbidden("spec",
                              "spec is immutable after creation except resources.requests and "
                              "volumeAttributesClassName for bound claims"));
  }
  const auto least = Quantity::parse(Value("0"));
  const auto held = Quantity::parse(old_object["status"]["capacity"]["storage"]);
  const auto asked = wanted ? wanted : least;
  if (before && *asked < *before && *asked <= *(held ? held : least)) {
    errors.push_back(FieldError::forbidden("spec.resources.requests.storage",
                                           "field can not be less than status.capacity"));
  }
  return errors;
}

Cells claim_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const bool bound = !spec["volumeName"].as_string().empty();
  const Value& status = object["status"];
  return {name_cell(object),
          phase_text(object),
          spec["volumeName"].str(),
          bound
              ? scalar_text(status["capacity"]["storage"].is_null() ? Value("0")
                                                                    : status["capacity"]["storage"])
              : "",
          bound ? short_modes(status["accessModes"]) : "",
          spec["storageClassName"].str(),
          text_cell(spec["volumeAttributesClassName"], kUnset),
          age_cell(object, now),
          text_cell(spec["volumeMode"], kUnset)};
}

void default_volume(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "persistentVolumeReclaimPolicy", "Retain");
    default_to(spec, "volumeMode", "Filesystem");
    if (spec["hostPath"].is_object()) {
      edit_member(spec, "hostPath", [](Value& path) { default_to(path, "type", ""); });
    }
  });
  edit_member(object, "status", [](Value& status) { default_to(status, "phase", "Pending"); });
}

void prepare_volume(Value& object, const KindContext& context) {
  object.set("status", Value::object({{"phase", "Pending"},
                                      {"lastPhaseTransitionTime", format_time(context.now)}}));
}

void prepare_volume_update(Value& object, const Value& old_object, const KindContext& context) {
  const Value& status = object["status"];
  const Value& old_status = old_object["status"];
  if (context.subresource != "status") {
    return;
  }
  const Value& then = status["lastPhaseTransitionTime"];
  const Value& before = old_status["lastPhaseTransitionTime"];
  if (text_or(status["phase"], "Pending") == text_or(old_status["phase"], "Pending")) {
    if (then.is_null() && !before.is_null()) {
      object.member("status").set("lastPhaseTransitionTime", before);
    }
  } else if (then.is_null() || then == before) {
    object.member("status").set("lastPhaseTransitionTime", format_time(context.now));
  }
}

// In the order in which the reference looks at them.
constexpr std::array<std::string_view, 21> kSources = {"hostPath",
                                                       "gcePersistentDisk",
                                                       "awsElasticBlockStore",
                                                       "glusterfs",
                                                       "flocker",
                                                       "nfs",
                                                       "rbd",
                                                       "quobyte",
                                                       "cephfs",
                                                       "iscsi",
                                                       "cinder",
                                                       "fc",
                                                       "azureFile",
                                                       "vsphereVolume",
                                                       "photonPersistentDisk",
                                                       "portworxVolume",
                                                       "azureDisk",
                                                       "scaleIO",
                                                       "local",
                                                       "storageos",
                                                       "csi"};

std::vector<std::string> sources(const Value& spec) {
  std::vector<std::string> result;
  for (const std::string_view source : kSources) {
    if (spec[source].is_object()) {
      result.emplace_back(source);
    }
  }
  return result;
}

FieldErrors validate_volume(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  if (spec["accessModes"].empty()) {
    errors.push_back(FieldError::required("spec.accessModes"));
  }
  check_access_modes(errors, spec["accessModes"], "spec.accessModes");
  const Value& capacity = spec["capacity"];
  if (capacity.empty()) {
    errors.push_back(FieldError::required("spec.capacity"));
  }
  if (!capacity.contains("storage") || capacity.size() > 1) {
    errors.push_back(
        FieldError::not_supported("spec.capacity", shown_labels(capacity), {"storage"}));
  }
  for (const Member& amount : capacity.members()) {
    const auto quantity = Quantity::parse(amount.value);
    if (quantity && quantity->is_negative()) {
      errors.push_back(FieldError::invalid(at("spec.capacity", amount.key()), quantity->value(),
                                           "must be a valid resource quantity"));
    }
    if (quantity && (quantity->is_negative() || quantity->is_zero())) {
      errors.push_back(FieldError::invalid(at("spec.capacity", amount.key()), amount.value,
                                           "must be greater than zero"));
    }
  }
  check_choice(errors, "spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"],
               {"Delete", "Recycle", "Retain"});
  const std::vector<std::string> given = sources(spec);
  if (given.empty()) {
    errors.push_back(FieldError::required("spec", "must specify a volume type"));
  }
  if (!given.empty() && given.front() == "hostPath") {
    check_host_path(errors, spec["hostPath"], "spec.hostPath");
  } else if (!given.empty() && given.front() == "nfs") {
    check_nfs(errors, spec["nfs"], "spec.nfs");
  }
  for (std::size_t i = 1; i < given.size(); ++i) {
    errors.push_back(
        FieldError::forbidden("spec." + given[i], "may not specify more than 1 volume type"));
  }
  if (spec["hostPath"]["path"].as_string() == "/" &&
      spec["persistentVolumeReclaimPolicy"].as_string() == "Recycle") {
    errors.push_back(FieldError::forbidden("spec.persistentVolumeReclaimPolicy",
                                           "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (!spec["storageClassName"].as_string().empty()) {
    check_name(errors, "spec.storageClassName", spec["storageClassName"].as_string(),
               &validate_dns1123_subdomain);
  }
  if (!spec["volumeMode"].is_null()) {
    check_choice(errors, "spec.volumeMode", spec["volumeMode"], {"Block", "Filesystem"});
  }
  return errors;
}

FieldErrors validate_volume_update(const Value& object, const Value& old_object,
                                   const KindContext& context) {
  if (!context.subresource.empty()) {
    return {};
  }
  FieldErrors errors = validate_volume(object, context);
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  const std::vector<std::string> given = sources(spec);
  bool changed = given != sources(old_spec);
  for (const std::string& source : given) {
    changed = changed || spec[source] != old_spec[source];
  }
  if (changed) {
    errors.push_back(FieldError::forbidden(
        "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"));
  }
  check_unchanged(errors, "volumeMode", spec["volumeMode"], old_spec["volumeMode"]);
  return errors;
}

Cells volume_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& claim = spec["claimRef"];
  return {name_cell(object),
          spec["capacity"]["storage"].is_null() ? std::string("0")
                                                : scalar_text(spec["capacity"]["storage"]),
          short_modes(spec["accessModes"]),
          spec["persistentVolumeReclaimPolicy"].str(),
          phase_text(object),
          claim.is_null()
              ? std::string()
              : fmt::format("{}/{}", claim["namespace"].as_string(), claim["name"].as_string()),
          spec["storageClassName"].str(),
          text_cell(spec["volumeAttributesClassName"], kUnset),
          object["status"]["reason"].str(),
          age_cell(object, now),
          text_cell(spec["volumeMode"], kUnset)};
}

void default_class(Value& object, const KindContext& /*context*/) {
  default_to(object, "reclaimPolicy", "Delete");
  default_to(object, "volumeBindingMode", "Immediate");
}

FieldErrors validate_class(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  if (const std::string_view provisioner = object["provisioner"].as_string(); provisioner.empty()) {
    errors.push_back(FieldError::required("provisioner"));
  } else {
    std::string name(provisioner);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const std::string& wrong : qualified_name_errors(name)) {
      errors.push_back(FieldError::invalid("provisioner", provisioner, wrong));
    }
  }
  check_choice(errors, "reclaimPolicy", object["reclaimPolicy"], {"Delete", "Retain"});
  check_choice_always(errors, "volumeBindingMode", object["volumeBindingMode"],
                      {"Immediate", "WaitForFirstConsumer"});
  return errors;
}

FieldErrors validate_class_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors = validate_class(object, context);
  for (const std::string_view field : {"parameters", "provisioner", "reclaimPolicy"}) {
    if (object[field] != old_object[field] &&
        !(object[field].empty() && old_object[field].empty() && field == "parameters")) {
      errors.push_back(
          FieldError::forbidden(field, fmt::format("updates to {} are forbidden.", field)));
    }
  }
  check_unchanged(errors, "volumeBindingMode", object["volumeBindingMode"],
                  old_object["volumeBindingMode"]);
  return errors;
}

Cells class_cells(const Value& object, Instant now) {
  std::string name = object["metadata"]["name"].str();
  if (object["metadata"]["annotations"][kDefaultClass].as_string() == "true") {
    name += " (default)";
  }
  return {name,
          object["provisioner"].str(),
          text_cell(object["reclaimPolicy"], "Delete"),
          text_cell(object["volumeBindingMode"], kUnset),
          object["allowVolumeExpansion"].as_bool(),
          age_cell(object, now)};
}

void default_driver(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "attachRequired", true);
    default_to(spec, "podInfoOnMount", false);
    default_to(spec, "volumeLifecycleModes", Value::list({"Persistent"}));
    default_to(spec, "storageCapacity", false);
    default_to(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default_to(spec, "requiresRepublish", false);
    default_to(spec, "seLinuxMount", false);
  });
}

void prepare_driver_update(Value& object, const Value& old_object, const KindContext& context) {
  default_driver(object, context);
  if (object["spec"] != old_object["spec"]) {
    object.member("metadata").set("generation", old_object["metadata"]["generation"].as_int() + 1);
  }
}

FieldErrors validate_driver(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_choice(errors, "spec.fsGroupPolicy", spec["fsGroupPolicy"],
               {"File", "None", "ReadWriteOnceWithFSType"});
  const Value& modes = spec["volumeLifecycleModes"];
  for (const Value& mode : modes.items()) {
    if (!is_one_of(mode.as_string(), {"Ephemeral", "Persistent"})) {
      errors.push_back(FieldError::not_supported("spec.volumeLifecycleModes", mode,
                                                 {"Ephemeral", "Persistent"}));
    }
  }
  return errors;
}

FieldErrors validate_driver_update(const Value& object, const Value& old_object,
                                   const KindContext& context) {
  FieldErrors errors = validate_driver(object, context);
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  check_unchanged(errors, "spec.attachedRequired", spec["attachRequired"],
                  old_spec["attachRequired"]);
  check_unchanged(errors, "spec.volumeLifecycleModes", spec["volumeLifecycleModes"],
                  old_spec["volumeLifecycleModes"]);
  return errors;
}

Cells driver_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  std::vector<std::string> audiences;
  for (const Value& request : spec["tokenRequests"].items()) {
    audiences.push_back(request["audience"].str());
  }
  return {name_cell(object),
          spec["attachRequired"].as_bool(true),
          spec["podInfoOnMount"].as_bool(),
          spec["storageCapacity"].as_bool(),
          audiences.empty() ? std::string(kUnset) : join(audiences, ","),
          spec["requiresRepublish"].as_bool(),
          list_cell(spec["volumeLifecycleModes"]),
          age_cell(object, now)};
}

Cells csi_node_cells(const Value& object, Instant now) {
  return {name_cell(object), static_cast<std::int64_t>(object["spec"]["drivers"].size()),
          age_cell(object, now)};
}

Cells created_cells(const Value& object, Instant /*now*/) {
  return {name_cell(object), object["metadata"]["creationTimestamp"].str()};
}

Cells attachment_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  return {name_cell(object),
          spec["attacher"].str(),
          spec["source"]["persistentVolumeName"].str(),
          spec["nodeName"].str(),
          object["status"]["attached"].as_bool(),
          age_cell(object, now)};
}

Cells attributes_class_cells(const Value& object, Instant now) {
  return {name_cell(object), object["driverName"].str(), age_cell(object, now)};
}

constexpr std::array kStorageRows = {
    KindRow{.group = "",
            .plural = "persistentvolumeclaims",
            .behaviour = {.apply_defaults = &default_claim,
                          .validate_create = &validate_claim,
                          .validate_update = &validate_claim_update,
                          .warn = &warn_of_claim_object,
                          .cells = &claim_cells}},
    KindRow{.group = "",
            .plural = "persistentvolumes",
            .behaviour = {.apply_defaults = &default_volume,
                          .prepare_create = &prepare_volume,
                          .prepare_update = &prepare_volume_update,
                          .validate_create = &validate_volume,
                          .validate_update = &validate_volume_update,
                          .cells = &volume_cells}},
    KindRow{.group = "storage.k8s.io",
            .plural = "storageclasses",
            .behaviour = {.apply_defaults = &default_class,
                          .validate_create = &validate_class,
                          .validate_update = &validate_class_update,
                          .cells = &class_cells}},
    KindRow{.group = "storage.k8s.io",
            .plural = "csidrivers",
            .behaviour = {.apply_defaults = &default_driver,
                          .prepare_update = &prepare_driver_update,
                          .validate_create = &validate_driver,
                          .validate_update = &validate_driver_update,
                          .cells = &driver_cells}},
    KindRow{
        .group = "storage.k8s.io", .plural = "csinodes", .behaviour = {.cells = &csi_node_cells}},
    KindRow{.group = "storage.k8s.io",
            .plural = "csistoragecapacities",
            .behaviour = {.cells = &created_cells}},
    KindRow{.group = "storage.k8s.io",
            .plural = "volumeattachments",
            .behaviour = {.cells = &attachment_cells}},
    KindRow{.group = "storage.k8s.io",
            .plural = "volumeattributesclasses",
            .behaviour = {.cells = &attributes_class_cells}},
};

}  // namespace

std::span<const KindRow> storage_rows() {
  return kStorageRows;
}

}  // namespace athanor::apiserver
