// SPDX-License-Identifier: Apache-2.0
// The type-erased walkers of described structs: Value to struct and back.
#include "api/describe.hpp"

#include <limits>

#include "api/describe_ops.hpp"

namespace athanor::api {

void decode(const TypeInfo& type, const Value& value, void* object) {
  for (const FieldInfo& field : type.fields) {
    const Value* found = field.member == nullptr ? nullptr : value.find(field.name);
    if (found != nullptr) {
      field.ops->decode(*found, field.member(object));
    }
  }
}

Value encode(const TypeInfo& type, const void* object) {
  Value value = Value::object();
  for (const FieldInfo& field : type.fields) {
    if (field.member == nullptr) {
      continue;
    }
    // The accessor is shared with decode; encode only reads through it.
    void* shared =
        const_cast<void*>(object);  // NOLINT(cppcoreguidelines-pro-type-const-cast): see above
    Value written = field.ops->encode(field.member(shared));
    if (!written.is_null()) {
      value.set(field.name, std::move(written));
    }
  }
  return value;
}

namespace ops {
namespace {

template <class T>
T& as(void* member) {
  return *static_cast<T*>(member);
}
template <class T>
const T& as(const void* member) {
  return *static_cast<const T*>(member);
}

}  // namespace

void decode_bool(const Value& value, void* member) {
  as<bool>(member) = value.as_bool(as<bool>(member));
}

void decode_int32(const Value& value, void* member) {
  const std::int64_t wide = value.as_int(as<std::int32_t>(member));
  if (wide >= std::numeric_limits<std::int32_t>::min() &&
      wide <= std::numeric_limits<std::int32_t>::max()) {
    as<std::int32_t>(member) = static_cast<std::int32_t>(wide);
  }
}

void decode_int64(const Value& value, void* member) {
  as<std::int64_t>(member) = value.as_int(as<std::int64_t>(member));
}

void decode_double(const Value& value, void* member) {
  as<double>(member) = value.as_double(as<double>(member));
}

void decode_string(const Value& value, void* member) {
  if (value.is_string()) {
    as<std::string>(member) = value.str();
  }
}

void decode_time(const Value& value, void* member) {
  if (const auto instant = parse_time(value.as_string())) {
    as<Instant>(member) = *instant;
  }
}

void decode_quantity(const Value& value, void* member) {
  if (const auto quantity = Quantity::parse(value)) {
    as<Quantity>(member) = *quantity;
  }
}

void decode_any(const Value& value, void* member) {
  as<Value>(member) = value;
}

Value encode_bool(const void* member) {
  return as<bool>(member);
}
Value encode_int32(const void* member) {
  return as<std::int32_t>(member);
}
Value encode_int64(const void* member) {
  return as<std::int64_t>(member);
}
Value encode_double(const void* member) {
  return as<double>(member);
}

Value encode_string(const void* member) {
  const auto& text = as<std::string>(member);
  return text.empty() ? Value() : Value(text);
}

Value encode_time(const void* member) {
  const Instant instant = as<Instant>(member);
  return instant == Instant() ? Value() : Value(format_time(instant));
}

Value encode_quantity(const void* member) {
  return as<Quantity>(member).text();
}
Value encode_any(const void* member) {
  return as<Value>(member);
}

Value encode_present(const MemberOps& ops, const void* member) {
  Value value = ops.encode(member);
  if (!value.is_null()) {
    return value;
  }
  switch (ops.shape) {
    case Shape::String:
      return "";
    case Shape::Object:
    case Shape::Map:
      return Value::object();
    case Shape::List:
      return Value::list();
    case Shape::Integer:
    case Shape::Number:
    case Shape::Boolean:
    case Shape::Quantity:
    case Shape::Time:
    case Shape::Any:
      return value;
  }
  return value;
}

}  // namespace ops
}  // namespace athanor::api
