// SPDX-License-Identifier: Apache-2.0
#include "api/shape.hpp"

#include <algorithm>

namespace athanor::api {
namespace {

bool is_map_or_absent(const Value& value) {
  return value.is_null() || value.is_object();
}

bool is_resource(const Value& value) {
  const Value& metadata = value["metadata"];
  return value.is_object() && is_map_or_absent(metadata) && is_map_or_absent(metadata["labels"]) &&
         is_map_or_absent(metadata["annotations"]);
}

bool has_form(const MemberOps& ops, const Value& value) {
  switch (ops.shape) {
    case Shape::Object:
      return value.is_object() && is_shaped(ops.type(), value);
    case Shape::List:
      return value.is_list() && std::ranges::all_of(value.items(), [&](const Value& item) {
               return item.is_null() || has_form(*ops.element, item);
             });
    case Shape::Map:
      return value.is_object() && std::ranges::all_of(value.members(), [&](const Member& member) {
               return member.value.is_null() || has_form(*ops.element, member.value);
             });
    case Shape::String:
    case Shape::Integer:
    case Shape::Number:
    case Shape::Boolean:
    case Shape::Quantity:
    case Shape::Time:
    case Shape::Any:
      break;
  }
  return true;
}

}  // namespace

bool is_shaped(const TypeInfo& type, const Value& value) {
  return std::ranges::all_of(type.fields, [&](const FieldInfo& field) {
    const Value& present = value[field.name];
    if (present.is_null()) {
      return true;
    }
    // Where any content is allowed, it is content of an object all the same.
    const bool open = field.name == "spec" || field.name == "status";
    return (!open || present.is_object()) &&
           (!field.rules.embedded_resource || is_resource(present)) &&
           (field.ops == nullptr || has_form(*field.ops, present));
  });
}

}  // namespace athanor::api
