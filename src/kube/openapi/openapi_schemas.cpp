// SPDX-License-Identifier: Apache-2.0
// components.schemas of OpenAPI documents.
#include <fmt/format.h>

#include <algorithm>

#include "kube/openapi/openapi_parts.hpp"
#include "kube/schema/types.hpp"

namespace athanor {
namespace {

using openapi::reference;

Value scalar(std::string_view type, std::string_view format) {
  Value schema = Value::object({{"type", type}});
  return format.empty() ? schema : schema.set("format", format);
}

Value union_of(std::string_view first, std::string_view second) {
  return Value::list({scalar(first, ""), scalar(second, "")});
}

bool is_struct(const Schema& schema) {
  return schema.type == SchemaType::Object && schema.additional == nullptr;
}

// What Go's zero value looks like for a field that is always present, Null when the document shows
// none.
Value zero_default(const Schema& schema) {
  switch (schema.type) {
    case SchemaType::String:
      return "";
    case SchemaType::Boolean:
      return false;
    case SchemaType::Integer:
    case SchemaType::Number:
      return 0;
    case SchemaType::Object:
      return is_struct(schema) ? Value::object() : Value();
    case SchemaType::Any:
    case SchemaType::List:
    case SchemaType::IntOrString:
    case SchemaType::Quantity:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return {};
  }
  return {};
}

Value use_of(const Schema& schema);

// The element of a list or map.
Value element(const Schema& schema) {
  Value value = use_of(schema);
  const Value zero = zero_default(schema);
  if (zero.is_null()) {
    return value;
  }
  if (value.contains("$ref")) {
    value = Value::object({{"allOf", Value::list({std::move(value)})}});
  }
  return value.set("default", zero);
}

// The form without a name.
Value inline_form(const Schema& schema) {
  switch (schema.type) {
    case SchemaType::String:
      return scalar("string", schema.format);
    case SchemaType::Bytes:
      return scalar("string", "byte");
    case SchemaType::Time:
    case SchemaType::MicroTime:
      return scalar("string", "date-time");
    case SchemaType::Boolean:
      return scalar("boolean", "");
    case SchemaType::Integer:
      return scalar("integer", schema.format);
    case SchemaType::Number:
      return scalar("number", schema.format);
    case SchemaType::Duration:
      return scalar("integer", "int64");
    case SchemaType::Quantity:
      return Value::object({{"oneOf", union_of("string", "number")}});
    case SchemaType::IntOrString:
      return Value::object({{"format", "int-or-string"}, {"oneOf", union_of("integer", "string")}});
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      return scalar("object", "");
    case SchemaType::Any:
      return Value::object();
    case SchemaType::List: {
      Value list = Value::object({{"type", "array"}, {"items", element(*schema.items)}});
      if (schema.list_type == ListType::Map) {
        std::vector<Value> keys(schema.list_map_keys.begin(), schema.list_map_keys.end());
        list.set("x-kubernetes-list-map-keys", Value::list(std::move(keys)));
      }
      return list.set("x-kubernetes-list-type", schema.list_type == ListType::Map   ? "map"
                                                : schema.list_type == ListType::Set ? "set"
                                                                                    : "atomic");
    }
    case SchemaType::Object:
      break;
  }
  Value object = Value::object({{"type", "object"}});
  if (schema.additional != nullptr) {
    object.set("additionalProperties", element(*schema.additional));
  }
  if (schema.map_type == MapType::Atomic) {
    object.set("x-kubernetes-map-type", "atomic");
  }
  return object;
}

Value use_of(const Schema& schema) {
  return schema.name.empty() ? inline_form(schema) : reference(schema.name);
}

// What a field says beyond its type.
std::vector<Member> extras(const SchemaField& field) {
  std::vector<Member> members;
  if (!field.description.empty()) {
    members.emplace_back("description", field.description);
  }
  if (field.default_value) {
    members.emplace_back("default", *field.default_value);
  } else if (field.always_present && !field.presence) {
    Value zero = zero_default(*field.schema);
    if (!zero.is_null()) {
      members.emplace_back("default", std::move(zero));
    }
  }
  if (!field.enum_values.empty()) {
    members.emplace_back("enum", Value::list(std::vector<Value>(field.enum_values.begin(),
                                                                field.enum_values.end())));
  }
  if (field.map_type) {
    members.emplace_back("x-kubernetes-map-type",
                         *field.map_type == MapType::Atomic ? "atomic" : "granular");
  }
  if (!field.patch_strategy.empty()) {
    members.emplace_back("x-kubernetes-patch-strategy", field.patch_strategy);
  }
  if (!field.patch_merge_key.empty()) {
    members.emplace_back("x-kubernetes-patch-merge-key", field.patch_merge_key);
  }
  return members;
}

Value property(const SchemaField& field) {
  Value value = use_of(*field.schema);
  std::vector<Member> more = extras(field);
  if (!more.empty() && value.contains("$ref")) {
    value = Value::object({{"allOf", Value::list({std::move(value)})}});
  }
  for (Member& member : more) {
    value.set(member.key(), std::move(member.value));
  }
  return value;
}

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

Value described_reference(std::string_view component, std::string_view description) {
  return Value::object(
      {{"description", description}, {"allOf", Value::list({reference(component)})}});
}

Value text_property(std::string_view description) {
  return Value::object({{"description", description}, {"type", "string"}});
}

// apiVersion, kind and metadata of an object inside a custom schema.
void add_object_properties(Value& schema) {
  Value properties = schema["properties"].is_object() ? schema["properties"] : Value::object();
  properties.set("apiVersion", text_property("The version of the schema that this object is "
                                             "written in, as GROUP/VERSION."));
  properties.set("kind", text_property("The kind of this object."));
  properties.set("metadata", described_reference(kObjectMeta,
                                                 "Name, labels and the rest of what "
                                                 "every object has."));
  schema.set("properties", std::move(properties));
}

// The custom schema as it is, embedded resources completed.
Value custom_form(const Value& schema) {
  Value copy = schema;
  for (const Member& member : schema["properties"].members()) {
    Value inner = custom_form(member.value);
    if (!inner.identical(member.value)) {
      copy.member("properties").set(member.key(), std::move(inner));
    }
  }
  for (const std::string_view name : {"items", "additionalProperties"}) {
    if (schema[name].is_object()) {
      Value inner = custom_form(schema[name]);
      if (!inner.identical(schema[name])) {
        copy.set(name, std::move(inner));
      }
    }
  }
  if (schema["x-kubernetes-embedded-resource"].as_bool()) {
    add_object_properties(copy);
  }
  return copy;
}

}  // namespace

Value openapi_component(const Schema& schema) {
  Value component = Value::object();
  if (!schema.description.empty()) {
    component.set("description", schema.description);
  }
  const Value form = inline_form(schema);
  for (const Member& member : form.members()) {
    component.set(member.key(), member.value);
  }
  if (!is_struct(schema)) {
    return component;
  }
  std::vector<Value> required;
  std::vector<Member> properties;
  for (const SchemaField& field : schema.fields) {
    properties.emplace_back(field.name, property(field));
    if (field.required) {
      required.emplace_back(field.name);
    }
  }
  if (!properties.empty()) {
    component.set("properties", Value::object(std::move(properties)));
  }
  if (!required.empty()) {
    component.set("required", Value::list(std::move(required)));
  }
  return component;
}

std::string openapi_custom_name(std::string_view group, std::string_view version,
                                std::string_view kind) {
  std::string name;
  while (!group.empty()) {
    const std::size_t dot = group.rfind('.');
    name.append(dot == std::string_view::npos ? group : group.substr(dot + 1)).append(".");
    group = group.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return name.append(version).append(".").append(kind);
}

namespace openapi {

Value reference(std::string_view component) {
  return Value::object({{"$ref", fmt::format("#/components/schemas/{}", component)}});
}

Value group_version_kind(std::string_view group, std::string_view version, std::string_view kind) {
  return Value::object({{"group", group}, {"kind", kind}, {"version", version}});
}

void Components::add(SchemaPtr schema, const Value& kind) {
  if (!kind.is_null()) {
    std::vector<Value>& kinds = kinds_[schema->name];
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      kinds.push_back(kind);
    }
  }
  collect(*schema);
}

void Components::collect(const Schema& schema) {
  if (!schema.name.empty()) {
    if (schemas_.contains(schema.name)) {
      return;
    }
    schemas_.emplace(schema.name, openapi_component(schema));
  }
  for (const SchemaField& field : schema.fields) {
    collect(*field.schema);
  }
  for (const SchemaPtr inner : {schema.items, schema.additional}) {
    if (inner != nullptr) {
      collect(*inner);
    }
  }
}

void Components::add_custom(std::string_view group, std::string_view version,
                            const OpenApiResource& resource) {
  const std::string list_kind =
      resource.list_kind.empty() ? resource.kind + "List" : resource.list_kind;
  const std::string name = openapi_custom_name(group, version, resource.kind);
  const std::string list_name = openapi_custom_name(group, version, list_kind);

  Value object = custom_form(resource.custom_schema);
  add_object_properties(object);
  object.set("type", "object");
  schemas_.insert_or_assign(name, std::move(object));
  kinds_[name] = {group_version_kind(group, version, resource.kind)};

  Value list = Value::object({{"description", fmt::format("A list of {}.", resource.kind)},
                              {"type", "object"},
                              {"required", Value::list({"items"})}});
  list.set_path({"properties", "apiVersion"}, text_property("The version of the schema that this "
                                                            "list is written in."));
  list.set_path({"properties", "kind"}, text_property("The kind of this list."));
  list.set_path({"properties", "metadata"}, described_reference(kListMeta, "What every list has."));
  list.set_path({"properties", "items"}, Value::object({{"description", "The objects of the list."},
                                                        {"type", "array"},
                                                        {"items", reference(name)}}));
  schemas_.insert_or_assign(list_name, std::move(list));
  kinds_[list_name] = {group_version_kind(group, version, list_kind)};

  const BuiltinTypes& types = BuiltinTypes::get();
  add(types.by_name(kObjectMeta), {});
  add(types.by_name(kListMeta), {});
}

Value Components::schemas() const {
  std::vector<Member> members;
  members.reserve(schemas_.size());
  for (const auto& [name, schema] : schemas_) {
    Value value = schema;
    if (const auto kinds = kinds_.find(name); kinds != kinds_.end()) {
      value.set("x-kubernetes-group-version-kind", Value::list(kinds->second));
    }
    members.emplace_back(name, std::move(value));
  }
  return Value::object(std::move(members));
}

}  // namespace openapi
}  // namespace athanor
