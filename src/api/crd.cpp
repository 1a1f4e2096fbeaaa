// SPDX-License-Identifier: Apache-2.0
// From field tables to OpenAPI v3 schemas and CustomResourceDefinition manifests
// (apiextensions.k8s.io/v1). The schemas are structural: every node has a type, int-or-string or
// preserve-unknown-fields.
#include <cmath>

#include "api/describe.hpp"
#include "base/check.hpp"
#include "kube/text/json.hpp"

namespace athanor::api {
namespace {

constexpr std::string_view kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  ATHANOR_CHECK(value.ok(), "JSON in a field table is written by us");
  return *std::move(value);
}

Value number_value(double value) {
  if (std::nearbyint(value) == value) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void set_text(Value& schema, std::string_view key, std::string_view text) {
  if (!text.empty()) {
    schema.set(key, text);
  }
}

template <class T>
void set_number(Value& schema, std::string_view key, const std::optional<T>& limit) {
  if (limit) {
    schema.set(key, number_value(static_cast<double>(*limit)));
  }
}

Value split(std::string_view text, char separator) {
  Value list = Value::list();
  while (true) {
    const auto end = text.find(separator);
    list.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return list;
    }
    text.remove_prefix(end + 1);
  }
}

Value schema_of(const MemberOps& ops, const Rules& rules);

Value int_or_string() {
  return Value::object({{"anyOf", Value::list({Value::object({{"type", "integer"}}),
                                               Value::object({{"type", "string"}})})},
                        {"x-kubernetes-int-or-string", true}});
}

Value element_schema(const MemberOps& ops, const Rules& rules) {
  Value element = schema_of(*ops.element, Rules{.pattern = rules.item_pattern});
  if (!rules.item_json.empty()) {
    const Value extra = parsed(rules.item_json);
    for (const Member& member : extra.members()) {
      element.set(member.key(), member.value);
    }
  }
  return element;
}

Value any_schema(const Rules& rules) {
  if (rules.int_or_string) {
    return int_or_string();
  }
  Value schema = Value::object();
  if (rules.preserve_unknown || rules.embedded_resource) {
    schema.set("type", "object");
  }
  schema.set("x-kubernetes-preserve-unknown-fields", true);
  return schema;
}

Value typed(std::string_view type) {
  return Value::object({{"type", type}});
}

// The schema that follows from the C++ type alone.
Value shape_schema(const MemberOps& ops, const Rules& rules) {
  switch (ops.shape) {
    case Shape::String:
    case Shape::Time:
      return typed("string");
    case Shape::Integer:
      return typed("integer");
    case Shape::Number:
      return typed("number");
    case Shape::Boolean:
      return typed("boolean");
    case Shape::Quantity: {
      Value schema = int_or_string();
      schema.set("pattern", kQuantityPattern);
      return schema;
    }
    case Shape::Any:
      return any_schema(rules);
    case Shape::Object:
      return object_schema(ops.type());
    case Shape::List: {
      Value schema = typed("array");
      schema.set("items", element_schema(ops, rules));
      return schema;
    }
    case Shape::Map: {
      Value schema = typed("object");
      schema.set("additionalProperties", element_schema(ops, rules));
      return schema;
    }
  }
  return typed("object");
}

void add_limits(Value& schema, const Rules& rules) {
  set_number(schema, "minimum", rules.minimum);
  set_number(schema, "maximum", rules.maximum);
  set_number(schema, "minLength", rules.min_length);
  set_number(schema, "maxLength", rules.max_length);
  set_number(schema, "minItems", rules.min_items);
  set_number(schema, "maxItems", rules.max_items);
  set_number(schema, "minProperties", rules.min_properties);
  set_number(schema, "maxProperties", rules.max_properties);
}

void add_extensions(Value& schema, const Rules& rules) {
  set_text(schema, "x-kubernetes-list-type", rules.list_type);
  if (!rules.list_keys.empty()) {
    schema.set("x-kubernetes-list-map-keys", split(rules.list_keys, ','));
  }
  set_text(schema, "x-kubernetes-map-type", rules.map_type);
  if (rules.preserve_unknown) {
    schema.set("x-kubernetes-preserve-unknown-fields", true);
  }
  if (rules.embedded_resource) {
    schema.set("x-kubernetes-embedded-resource", true);
  }
  if (!rules.validations_json.empty()) {
    schema.set("x-kubernetes-validations", parsed(rules.validations_json));
  }
}

Value schema_of(const MemberOps& ops, const Rules& rules) {
  if (!rules.schema_json.empty()) {
    return parsed(rules.schema_json);
  }
  Value schema = shape_schema(ops, rules);
  set_text(schema, "format", rules.format.empty() ? ops.format : rules.format);
  if (!rules.default_json.empty()) {
    schema.set("default", parsed(rules.default_json));
  }
  if (!rules.enum_values.empty()) {
    schema.set("enum", split(rules.enum_values, '|'));
  }
  set_text(schema, "pattern", rules.pattern);
  if (rules.nullable) {
    schema.set("nullable", true);
  }
  add_limits(schema, rules);
  add_extensions(schema, rules);
  return schema;
}

Value columns_of(const VersionInfo& version) {
  Value columns = Value::list();
  for (const PrinterColumn& column : version.columns) {
    Value value = Value::object(
        {{"name", column.name}, {"type", column.type}, {"jsonPath", column.json_path}});
    if (column.priority != 0) {
      value.set("priority", column.priority);
    }
    set_text(value, "description", column.doc);
    columns.push_back(std::move(value));
  }
  return columns;
}

Value version_manifest(const VersionInfo& version) {
  Value value = Value::object(
      {{"name", version.name}, {"served", version.served}, {"storage", version.storage}});
  if (!version.deprecation_warning.empty()) {
    value.set("deprecated", true);
    value.set("deprecationWarning", version.deprecation_warning);
  }
  value.set_path({"schema", "openAPIV3Schema"}, open_api_schema(version.type()));
  if (version.status_subresource) {
    value.set_path({"subresources", "status"}, Value::object());
  }
  if (!version.columns.empty()) {
    value.set("additionalPrinterColumns", columns_of(version));
  }
  if (!version.selectable_fields.empty()) {
    Value fields = Value::list();
    for (const std::string_view path : version.selectable_fields) {
      fields.push_back(Value::object({{"jsonPath", path}}));
    }
    value.set("selectableFields", std::move(fields));
  }
  return value;
}

Value names_of(const CustomKind& custom) {
  Value names = Value::object({{"kind", custom.kind->name},
                               {"listKind", std::string(custom.kind->name) + "List"},
                               {"plural", custom.kind->plural},
                               {"singular", custom.singular}});
  for (const std::string_view name : custom.short_names) {
    names.member("shortNames").push_back(name);
  }
  for (const std::string_view category : custom.categories) {
    names.member("categories").push_back(category);
  }
  return names;
}

}  // namespace

Value object_schema(const TypeInfo& type) {
  Value schema = typed("object");
  set_text(schema, "description", type.doc);
  Value properties = Value::object();
  Value required = Value::list();
  for (const FieldInfo& field : type.fields) {
    Value property = schema_of(*field.ops, field.rules);
    set_text(property, "description", field.doc);
    properties.set(field.name, std::move(property));
    if (field.rules.required) {
      required.push_back(field.name);
    }
  }
  if (!properties.empty()) {
    schema.set("properties", std::move(properties));
  }
  if (!required.empty()) {
    schema.set("required", std::move(required));
  }
  if (!type.validations_json.empty()) {
    schema.set("x-kubernetes-validations", parsed(type.validations_json));
  }
  if (type.preserve_unknown) {
    schema.set("x-kubernetes-preserve-unknown-fields", true);
  }
  return schema;
}

Value open_api_schema(const TypeInfo& root) {
  Value schema = object_schema(root);
  Value properties = Value::object(
      {{"apiVersion",
        Value::object({{"type", "string"},
                       {"description", "Version of the schema that this object is written in."}})},
       {"kind",
        Value::object({{"type", "string"}, {"description", "What kind of object this is."}})},
       {"metadata", typed("object")}});
  for (const Member& member : schema["properties"].members()) {
    properties.set(member.key(), member.value);
  }
  schema.set("properties", std::move(properties));
  return schema;
}

Value crd_manifest(const CustomKind& custom) {
  Value metadata = Value::object(
      {{"name", std::string(custom.kind->plural) + "." + std::string(custom.kind->group)}});
  for (const auto& [key, text] : custom.annotations) {
    metadata.member("annotations").set(key, text);
  }
  Value versions = Value::list();
  for (const VersionInfo& version : custom.versions) {
    versions.push_back(version_manifest(version));
  }
  return Value::object(
      {{"apiVersion", "apiextensions.k8s.io/v1"},
       {"kind", "CustomResourceDefinition"},
       {"metadata", std::move(metadata)},
       {"spec", Value::object({{"group", custom.kind->group},
                               {"names", names_of(custom)},
                               {"scope", custom.kind->namespaced ? "Namespaced" : "Cluster"},
                               {"versions", std::move(versions)}})}});
}

}  // namespace athanor::api
