// SPDX-License-Identifier: Apache-2.0
#include "cel/rules/schema_type.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cel/names.hpp"

namespace athanor::cel {
namespace {

constexpr std::int64_t kStringSize = 2;  // ""
constexpr std::int64_t kBoolSize = 4;
constexpr std::int64_t kNumberSize = 1;
constexpr std::int64_t kDurationSize = 3;
constexpr std::int64_t kDateSize = 12;
constexpr std::int64_t kDateTimeSize = 22;
constexpr std::int64_t kLongestDuration = 32;
constexpr std::int64_t kLongestDateTime = 32;
constexpr std::int64_t kLongestString = kLargestRequest - 2;

std::shared_ptr<Type> sized(TypeKind kind, std::int64_t min_size, std::int64_t max_elements = -1) {
  auto type = std::make_shared<Type>(*simple_type(kind));
  type->min_size = min_size;
  type->max_elements = max_elements;
  return type;
}

std::int64_t longest_enum(const std::vector<Value>& values) {
  std::int64_t longest = 0;
  for (const Value& value : values) {
    longest = std::max(longest, static_cast<std::int64_t>(value.as_string().size()));
  }
  return longest;
}

TypePtr text_type(const Schema& schema) {
  if (schema.format == "byte") {
    return sized(TypeKind::Bytes, kStringSize, schema.max_length.value_or(kLongestString));
  }
  if (schema.format == "duration") {
    return sized(TypeKind::Duration, kDurationSize, kLongestDuration);
  }
  if (schema.format == "date" || schema.format == "date-time") {
    const bool date = schema.format == "date";
    auto type = sized(TypeKind::Timestamp, date ? kDateSize : kDateTimeSize,
                      date ? kDateSize : kLongestDateTime);
    type->format = date ? TextFormat::Date : TextFormat::DateTime;
    return type;
  }
  std::int64_t longest = kLongestString;
  if (schema.max_length) {
    longest = std::max<std::int64_t>(*schema.max_length, 0) * 4;  // bytes of a character
  } else if (!schema.enum_values.empty()) {
    longest = longest_enum(schema.enum_values);
  }
  return sized(TypeKind::String, kStringSize, longest);
}

TypePtr array_type(const Schema& schema, const TypePtr& item) {
  auto type = std::make_shared<Type>(*list_type(item));
  type->list_type = schema.list_type;
  type->list_map_keys = schema.list_map_keys;
  type->min_size = 2;
  type->max_elements = schema.max_items ? std::max<std::int64_t>(*schema.max_items, 0)
                                        : (kLargestRequest - 2) / (item->min_size + 1);
  return type;
}

TypePtr dictionary_type(const Schema& schema, const TypePtr& value) {
  auto type = std::make_shared<Type>(*map_type(simple_type(TypeKind::String), value));
  type->min_size = 2;
  type->max_elements = schema.max_properties ? std::max<std::int64_t>(*schema.max_properties, 0)
                                             : (kLargestRequest - 2) / (value->min_size + 6);
  return type;
}

TypePtr metadata_type(const std::string& name_of_type) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::Object;
  type->name = name_of_type;
  type->min_size = 2;
  for (const char* name : {"name", "generateName"}) {
    type->fields.emplace(
        name,
        TypeField{.name = name, .type = sized(TypeKind::String, kStringSize, kLongestString)});
  }
  return type;
}

SchemaPlace type_place_of(const Schema& schema) {
  return schema.embedded_resource ? SchemaPlace::ResourceRoot : SchemaPlace::Field;
}

TypePtr object_of(const Schema& schema, SchemaPlace place, const std::string& name_of_type) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::Object;
  type->name = name_of_type;
  type->min_size = 2;
  const bool root = place == SchemaPlace::ResourceRoot;
  for (const SchemaField& field : schema.fields) {
    const std::string inner = name_of_type + "." + field.name;
    const TypePtr below = root && field.name == "metadata"
                              ? metadata_type(inner)
                              : custom_type(*field.schema, type_place_of(*field.schema), inner);
    if (below == nullptr) {
      continue;
    }
    if (const auto name = escape_name(field.name)) {
      type->fields.emplace(*name, TypeField{.name = field.name, .type = below});
    }
    if (field.required && !field.default_value) {
      type->min_size += static_cast<std::int64_t>(field.name.size()) + below->min_size + 4;
    }
  }
  return type;
}

// `open` are the names of the types around this one.
TypePtr builtin(const Schema& schema, std::vector<std::string_view>& open) {
  switch (schema.type) {
    case SchemaType::Object:
      break;
    case SchemaType::List:
      return list_type(schema.items == nullptr ? simple_type(TypeKind::Dyn)
                                               : builtin(*schema.items, open));
    case SchemaType::String:
    case SchemaType::Quantity:
    case SchemaType::Duration:
      return simple_type(TypeKind::String);
    case SchemaType::Boolean:
      return simple_type(TypeKind::Bool);
    case SchemaType::Integer:
      return simple_type(TypeKind::Int);
    case SchemaType::Number:
      return simple_type(TypeKind::Double);
    case SchemaType::Time:
    case SchemaType::MicroTime:
      return simple_type(TypeKind::Timestamp);
    case SchemaType::Bytes:
      return simple_type(TypeKind::Bytes);
    case SchemaType::Any:
    case SchemaType::IntOrString:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      return simple_type(TypeKind::Dyn);
  }
  if (schema.fields.empty()) {
    return map_type(simple_type(TypeKind::String), schema.additional == nullptr
                                                       ? simple_type(TypeKind::Dyn)
                                                       : builtin(*schema.additional, open));
  }
  if (!schema.name.empty() && std::ranges::find(open, schema.name) != open.end()) {
    return simple_type(TypeKind::Dyn);
  }
  open.emplace_back(schema.name);
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::Object;
  type->name = schema.name.empty() ? "object" : schema.name;
  for (const SchemaField& field : schema.fields) {
    if (const auto name = escape_name(field.name)) {
      type->fields.emplace(*name,
                           TypeField{.name = field.name, .type = builtin(*field.schema, open)});
    }
  }
  open.pop_back();
  return type;
}

}  // namespace

TypePtr custom_type(const Schema& schema, SchemaPlace place, const std::string& name) {
  switch (schema.type) {
    case SchemaType::IntOrString:
      return sized(TypeKind::Dyn, 1, schema.max_length ? *schema.max_length * 4 : kLongestString);
    case SchemaType::List: {
      if (schema.items == nullptr) {
        return nullptr;
      }
      TypePtr item = custom_type(*schema.items, type_place_of(*schema.items), name + ".@idx");
      return item == nullptr ? nullptr : array_type(schema, item);
    }
    case SchemaType::Object: {
      // `additionalProperties: true` declares no type: an object without fields
      const bool declared = schema.additional != nullptr &&
                            !(schema.additional->type == SchemaType::Any &&
                              schema.additional->nullable && schema.additional->preserve_unknown);
      if (!declared) {
        return object_of(schema, place, name);
      }
      TypePtr value =
          custom_type(*schema.additional, type_place_of(*schema.additional), name + ".@elem");
      return value == nullptr ? nullptr : dictionary_type(schema, value);
    }
    case SchemaType::String:
      return text_type(schema);
    case SchemaType::Boolean:
      return sized(TypeKind::Bool, kBoolSize);
    case SchemaType::Integer:
      return sized(TypeKind::Int, kNumberSize);
    case SchemaType::Number:
      return sized(TypeKind::Double, kNumberSize);
    case SchemaType::Any:
    case SchemaType::Quantity:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return nullptr;
  }
  return nullptr;
}

TypePtr builtin_type(const Schema& schema) {
  std::vector<std::string_view> open;
  return builtin(schema, open);
}

}  // namespace athanor::cel
