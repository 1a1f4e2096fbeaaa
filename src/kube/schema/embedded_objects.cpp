// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/embedded_objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "kube/names/metadata_checks.hpp"
#include "kube/names/names.hpp"
#include "kube/text/path_text.hpp"

namespace athanor {
namespace {

constexpr std::size_t kMostManager = 128;      // bytes
constexpr std::size_t kMostSubresource = 256;  // likewise

void check_type(const Value& object, const PathText& path, std::vector<FieldError>& errors) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const std::string field = path.child(name);
    const Value& value = object[name];
    if (!object.contains(name)) {
      errors.push_back(FieldError::required(field));
    } else if (!value.is_string()) {
      errors.push_back(FieldError::invalid(field, value, "must be a string"));
    } else if (value.as_string().empty()) {
      errors.push_back(FieldError::invalid(field, value, "must not be empty"));
    }
  }
  const std::string_view version = object["apiVersion"].as_string();
  if (std::ranges::count(version, '/') > 1) {
    errors.push_back(
        FieldError::invalid(path.child("apiVersion"), version,
                            fmt::format("unexpected GroupVersion string: {}", version)));
  }
  const std::string kind = lower(object["kind"].as_string());
  if (const NameError broken = kind.empty() ? std::nullopt : validate_dns1035_label(kind)) {
    errors.push_back(FieldError::invalid(
        path.child("kind"), object["kind"],
        fmt::format("may have mixed case, but should otherwise match: {}", *broken)));
  }
}

void check_names(const Value& metadata, const std::string& path, std::vector<FieldError>& errors) {
  const std::string prefix = metadata["generateName"].str();
  if (const NameError broken =
          prefix.empty() ? std::nullopt : validate_path_segment(masked_generate_name(prefix))) {
    errors.push_back(FieldError::invalid(path + ".generateName", Value(prefix), *broken));
  }
  const std::string_view name = metadata["name"].as_string();
  if (const NameError broken = name.empty() ? std::nullopt : validate_path_segment(name)) {
    errors.push_back(FieldError::invalid(path + ".name", Value(name), *broken));
  }
  const std::string_view ns = metadata["namespace"].as_string();
  if (const NameError broken = ns.empty() ? std::nullopt : validate_dns1123_label(ns)) {
    errors.push_back(FieldError::invalid(path + ".namespace", Value(ns), *broken));
  }
}

void check_managed_fields(const Value& entries, const std::string& path,
                          std::vector<FieldError>& errors) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Value& entry = entries[i];
    const std::string at = fmt::format("{}.managedFields[{}]", path, i);
    const std::string_view operation = entry["operation"].as_string();
    if (operation != "Apply" && operation != "Update") {
      errors.push_back(
          FieldError::invalid(at + ".operation", Value(operation), "must be `Apply` or `Update`"));
    }
    const std::string_view type = entry["fieldsType"].as_string();
    if (!type.empty() && type != "FieldsV1") {
      errors.push_back(FieldError::invalid(at + ".fieldsType", Value(type), "must be `FieldsV1`"));
    }
    if (entry["manager"].as_string().size() > kMostManager) {
      errors.push_back(FieldError::too_long(at + ".manager", kMostManager));
    }
    if (entry["subresource"].as_string().size() > kMostSubresource) {
      errors.push_back(FieldError::too_long(at + ".subresource", kMostSubresource));
    }
  }
}

void check_metadata(const Value& metadata, const std::string& path,
                    std::vector<FieldError>& errors) {
  check_names(metadata, path, errors);
  if (metadata["generation"].as_int() < 0) {
    errors.push_back(FieldError::invalid(path + ".generation", metadata["generation"],
                                         "must be greater than or equal to 0"));
  }
  check_labels(path, metadata["labels"], errors);
  check_annotations(path, metadata["annotations"], errors);
  check_owners(path, metadata["ownerReferences"], errors);
  for (const Value& finalizer : metadata["finalizers"].items()) {
    for (const std::string& broken : qualified_name_errors(finalizer.as_string())) {
      errors.push_back(FieldError::invalid(path + ".finalizers", finalizer, broken));
    }
  }
  check_deletion_finalizers(path, metadata["finalizers"], errors);
  check_managed_fields(metadata["managedFields"], path, errors);
}

void visit(const Value& value, const Schema& schema, PathText& path,
           std::vector<FieldError>& errors) {
  if (value.is_list() && schema.items != nullptr) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const PathText::Step step(path, i);
      visit(value[i], *schema.items, path, errors);
    }
    return;
  }
  if (!value.is_object()) {
    return;
  }
  if (schema.embedded_resource) {
    check_type(value, path, errors);
    check_metadata(value["metadata"], path.child("metadata"), errors);
  }
  for (const Member& member : value.members()) {
    if (const SchemaField* field = schema.field(member.key())) {
      const PathText::Step step(path, member.key());
      visit(member.value, *field->schema, path, errors);
    } else if (schema.additional != nullptr) {
      const PathText::Step step = PathText::Step::key(path, member.key());
      visit(member.value, *schema.additional, path, errors);
    }
  }
}

}  // namespace

bool embeds_objects(const Schema& schema) {
  const auto embeds = [](SchemaPtr below) {
    // A built-in type (metadata) has none.
    return below != nullptr && below->name.empty() && embeds_objects(*below);
  };
  return schema.embedded_resource || embeds(schema.items) || embeds(schema.additional) ||
         std::ranges::any_of(schema.fields,
                             [&](const SchemaField& field) { return embeds(field.schema); });
}

std::vector<FieldError> validate_embedded(const Value& value, const Schema& schema) {
  std::vector<FieldError> errors;
  PathText path;
  visit(value, schema, path, errors);
  return errors;
}

}  // namespace athanor
