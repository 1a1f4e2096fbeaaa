// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/managers.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>

#include "embedded/apiserver/write/decode.hpp"
#include "embedded/kinds/converter.hpp"
#include "embedded/kinds/workloads/autoscaler_rules.hpp"
#include "kube/apply/typed_fields.hpp"

namespace athanor::apiserver {
namespace {

FieldSet fields(std::initializer_list<std::string_view> names) {
  FieldSet set;
  for (const std::string_view name : names) {
    set.insert(path_element::field(name));
  }
  return set;
}

// The spec and one field of the metadata.
FieldSet spec_and(std::string_view field_of_metadata) {
  FieldSet set = fields({"spec"});
  set.add_below(path_element::field("metadata"), fields({field_of_metadata}));
  return set;
}

// What a write of the main object, respectively of its status, never owns.
const FieldSet& status_field() {
  static const FieldSet kSet = fields({"status"});
  return kSet;
}
const FieldSet& all_but_status(const ResourceInfo& resource) {
  static const FieldSet kSpec = fields({"spec"});
  static const FieldSet kWhole = fields({"metadata", "spec"});
  static const FieldSet kDeployment = spec_and("labels");
  static const FieldSet kPod = spec_and("ownerReferences");
  if (!resource.is_custom && status_keeps_metadata(resource)) {
    return resource.storage == "servicecidrs.networking.k8s.io" ? kSpec : kWhole;
  }
  return resource.storage == "deployments.apps" ? kDeployment
         : resource.storage == "pods"           ? kPod
                                                : kSpec;
}

// An autoscaler in another version, if there is such a version.
std::optional<VersionedObject> shown_in(const Call& call, const Value& object,
                                        std::string_view version) {
  const ResourceInfo& resource = *call.resource;
  const ResourceInfo* other = call.table->by_kind(version, resource.kind);
  if (other == nullptr || resource.converter == nullptr) {
    return std::nullopt;
  }
  auto converted = resource.converter->convert(object, object["apiVersion"].as_string(), version);
  if (!converted.ok()) {
    return std::nullopt;
  }
  auto normal = normalize(*other, *converted);
  if (!normal.ok()) {
    return std::nullopt;
  }
  Value shown = *std::move(normal);
  const Value& spec = object["spec"];
  if (!spec.contains("metrics") && !spec.contains("targetCPUUtilizationPercentage")) {
    default_metrics(shown, other->version);
  }
  return VersionedObject{.object = std::move(shown), .schema = other->schema};
}

}  // namespace

bool status_keeps_metadata(const ResourceInfo& resource) {
  constexpr std::array<std::string_view, 7> kGroups = {
      "storage.k8s.io",        "resource.k8s.io",         "flowcontrol.apiserver.k8s.io",
      "apiextensions.k8s.io",  "storagemigration.k8s.io", "admissionregistration.k8s.io",
      "apiregistration.k8s.io"};
  return resource.is_custom || resource.storage == "servicecidrs.networking.k8s.io" ||
         std::ranges::find(kGroups, resource.group) != kGroups.end();
}

bool cannot_be_owned(const ResourceInfo& resource, const Value& object) {
  return resource.is_custom && !type_errors(object, resource.schema, Duplicates::Allowed).empty();
}

FieldManagement management_of(const Call& call, const WriteOptions& options,
                              std::string_view subresource, const std::string& api_version) {
  FieldManagement by;
  by.schema = call.resource->schema;
  by.manager = options.manager;
  by.api_version = api_version;
  by.subresource = subresource;
  by.now = call.now;
  if (subresource == "status") {
    by.reset_fields = &all_but_status(*call.resource);
  } else if (call.resource->has_status()) {
    by.reset_fields = &status_field();
  }
  if (call.resource->storage == "events") {
    // Entries of the other group cannot be converted, and go.
    by.knows_version = [own = api_version](std::string_view version) { return version == own; };
  }
  if (call.resource->storage == "horizontalpodautoscalers.autoscaling") {
    by.in_version = [&call](const Value& object, std::string_view version) {
      return shown_in(call, object, version);
    };
  }
  if (call.resource->is_custom) {
    by.knows_version = [table = call.table.get(),
                        kind = call.resource->kind](std::string_view version) {
      return table->by_kind(version, kind) != nullptr || version == "autoscaling/v1";
    };
  }
  return by;
}

}  // namespace athanor::apiserver
