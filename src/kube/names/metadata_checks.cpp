// SPDX-License-Identifier: Apache-2.0
#include "kube/names/metadata_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/names/names.hpp"

namespace athanor {
namespace {

// In the order of the type, whatever order was written.
Value printed_owner(const Value& owner) {
  Value shown = Value::object();
  for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
    shown.set(field, Value(owner[field].as_string()));
  }
  for (const std::string_view field : {"controller", "blockOwnerDeletion"}) {
    if (!owner[field].is_null()) {
      shown.set(field, owner[field]);
    }
  }
  return shown;
}

Value printed_owners(const Value& owners) {
  Value shown = Value::list();
  for (const Value& owner : owners.items()) {
    shown.push_back(printed_owner(owner));
  }
  return shown;
}

// The version in "GROUP/VERSION"; empty when that is none.
std::string_view version_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  const std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  return version.find('/') == std::string_view::npos ? version : std::string_view();
}

void check_owner(const std::string& path, const Value& owner, std::vector<FieldError>& errors) {
  const std::string_view version = owner["apiVersion"].as_string();
  const std::string_view kind = owner["kind"].as_string();
  if (version_of(version).empty()) {
    errors.push_back(
        FieldError::invalid(path + ".apiVersion", Value(version), "version must not be empty"));
  }
  for (const std::string_view field : {"kind", "name", "uid"}) {
    if (owner[field].as_string().empty()) {
      errors.push_back(
          FieldError::invalid(fmt::format("{}.{}", path, field), Value(""), "must not be empty"));
    }
  }
  if (kind == "Event" && (version == "v1" || version == "/v1")) {
    errors.push_back(FieldError::invalid(path, printed_owner(owner),
                                         "/v1, Kind=Event is disallowed from being an owner"));
  }
}

}  // namespace

void check_labels(std::string_view metadata, const Value& labels, std::vector<FieldError>& errors) {
  const std::string path = fmt::format("{}.labels", metadata);
  for (const Member& label : labels.members()) {
    for (const std::string& broken : qualified_name_errors(label.key())) {
      errors.push_back(FieldError::invalid(path, label.name, broken));
    }
    if (const NameError broken = validate_label_value(label.value.as_string())) {
      errors.push_back(FieldError::invalid(path, label.value, *broken));
    }
  }
}

void check_annotations(std::string_view metadata, const Value& annotations,
                       std::vector<FieldError>& errors) {
  const std::string path = fmt::format("{}.annotations", metadata);
  std::size_t size = 0;
  for (const Member& annotation : annotations.members()) {
    if (const NameError broken = validate_annotation_key(annotation.key())) {
      errors.push_back(FieldError::invalid(path, annotation.name, *broken));
    }
    size += annotation.key().size() + annotation.value.as_string().size();
  }
  if (size > kMaxAnnotationBytes) {
    errors.push_back(FieldError::too_long(path, kMaxAnnotationBytes));
  }
}

void check_owners(std::string_view metadata, const Value& owners, std::vector<FieldError>& errors) {
  const std::string path = fmt::format("{}.ownerReferences", metadata);
  // Each such error prints all owners: some are enough.
  constexpr int kMostRepeated = 10;
  int repeated = 0;
  std::string controller;
  for (const Value& owner : owners.items()) {
    check_owner(path, owner, errors);
    if (owner["controller"].as_bool()) {
      const std::string named =
          fmt::format("{}/{}", owner["kind"].as_string(), owner["name"].as_string());
      if (!controller.empty() && ++repeated <= kMostRepeated) {
        errors.push_back(FieldError::invalid(
            path, printed_owners(owners),
            fmt::format("Only one reference can have Controller set to true. Found \"true\" in "
                        "references for {} and {}",
                        controller, named)));
      }
      controller = named;
    }
  }
}

void check_deletion_finalizers(std::string_view metadata, const Value& finalizers,
                               std::vector<FieldError>& errors) {
  const auto items = finalizers.items();
  const auto holds = [&](std::string_view name) {
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& item) { return item.as_string() == name; });
  };
  if (holds("orphan") && holds("foregroundDeletion")) {
    errors.push_back(
        FieldError::invalid(fmt::format("{}.finalizers", metadata), finalizers,
                            "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

}  // namespace athanor
