// SPDX-License-Identifier: Apache-2.0
// Objects that use every field of a built-in type (docs/spec/apiserver.md, check A3).
#pragma once

#include <string>

#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::test {

// A value of the type with every field set, down to `depth` levels of structs.
inline Value sample_object(const Schema& schema, int depth, int& counter) {
  ++counter;
  switch (schema.type) {
    case SchemaType::String:
      return "s" + std::to_string(counter);
    case SchemaType::Boolean:
      return true;
    case SchemaType::Integer:
      return -counter;
    case SchemaType::Number:
      return counter + 0.5;
    case SchemaType::Bytes:
      return "AP8=";
    case SchemaType::Quantity:
      return std::to_string(counter) + "Gi";
    case SchemaType::Time:
      return "2026-11-20T10:20:35Z";
    case SchemaType::MicroTime:
      return "2026-11-20T10:20:35.123456Z";
    case SchemaType::IntOrString:
      return counter % 2 == 0 ? Value(counter) : Value("25%");
    case SchemaType::Duration:
      return counter;
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      return Value::object({{"f:x", Value::object()}});
    case SchemaType::Any:
      if (!schema.any_of.empty() && depth > 0) {
        return sample_object(*schema.any_of.front(), depth - 1, counter);
      }
      return schema.any_of.empty() ? Value(counter) : Value::object({{"type", "string"}});
    case SchemaType::List: {
      Value list = Value::list();
      for (int i = 0; i < (depth > 0 ? 2 : 1); ++i) {
        list.push_back(sample_object(*schema.items, depth - 1, counter));
      }
      return list;
    }
    case SchemaType::Object: {
      Value object = Value::object();
      if (schema.additional != nullptr) {
        object.set("key-a", sample_object(*schema.additional, depth - 1, counter));
        return object.set("key-b", sample_object(*schema.additional, depth - 1, counter));
      }
      for (const SchemaField& field : schema.fields) {
        const bool nested = field.schema->type == SchemaType::Object ||
                            field.schema->type == SchemaType::List ||
                            field.schema->type == SchemaType::Any;
        if (!field.proto.empty() && (!nested || depth > 0)) {
          object.set(field.name, sample_object(*field.schema, depth - 1, counter));
        }
      }
      return object;
    }
  }
  return {};
}

}  // namespace athanor::test
