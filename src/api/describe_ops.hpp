// SPDX-License-Identifier: Apache-2.0
// How C++ member types are read and written, and field<>(): the row of a field table. Included by
// the .cpp files that hold field tables, never by headers.
//
//   const TypeInfo& Describe<Spec>::type() {
//     static const FieldInfo kFields[] = {
//         field<&Spec::owner>("owner", "Team or person.", {.max_length = 63}),
//     };
//     static const TypeInfo kType{.name = "Spec", .doc = "...", .fields = kFields};
//     return kType;
//   }
#pragma once

#include "api/describe.hpp"

namespace athanor::api {

namespace ops {

// Decodes or encodes a scalar; describe.cpp has one definition of each.
void decode_bool(const Value& value, void* member);
void decode_int32(const Value& value, void* member);
void decode_int64(const Value& value, void* member);
void decode_double(const Value& value, void* member);
void decode_string(const Value& value, void* member);
void decode_time(const Value& value, void* member);
void decode_quantity(const Value& value, void* member);
void decode_any(const Value& value, void* member);
Value encode_bool(const void* member);
Value encode_int32(const void* member);
Value encode_int64(const void* member);
Value encode_double(const void* member);
Value encode_string(const void* member);
Value encode_time(const void* member);
Value encode_quantity(const void* member);
Value encode_any(const void* member);
// Encodes as ops.encode, but an empty string, object or container as "", {} or [] instead of Null.
Value encode_present(const MemberOps& ops, const void* member);

template <class M>
struct Of;

template <>
struct Of<bool> {
  static constexpr MemberOps kOps{
      .shape = Shape::Boolean, .decode = decode_bool, .encode = encode_bool};
};
template <>
struct Of<std::int32_t> {
  static constexpr MemberOps kOps{
      .shape = Shape::Integer, .format = "int32", .decode = decode_int32, .encode = encode_int32};
};
template <>
struct Of<std::int64_t> {
  static constexpr MemberOps kOps{
      .shape = Shape::Integer, .decode = decode_int64, .encode = encode_int64};
};
template <>
struct Of<double> {
  static constexpr MemberOps kOps{
      .shape = Shape::Number, .decode = decode_double, .encode = encode_double};
};
template <>
struct Of<std::string> {
  static constexpr MemberOps kOps{
      .shape = Shape::String, .decode = decode_string, .encode = encode_string};
};
template <>
struct Of<Instant> {
  static constexpr MemberOps kOps{
      .shape = Shape::Time, .format = "date-time", .decode = decode_time, .encode = encode_time};
};
template <>
struct Of<Quantity> {
  static constexpr MemberOps kOps{
      .shape = Shape::Quantity, .decode = decode_quantity, .encode = encode_quantity};
};
template <>
struct Of<Value> {
  static constexpr MemberOps kOps{.shape = Shape::Any, .decode = decode_any, .encode = encode_any};
};

template <Described T>
struct Of<T> {
  static void read(const Value& value, void* member) {
    if (value.is_object()) {
      decode(Describe<T>::type(), value, member);
    }
  }
  static Value write(const void* member) {
    Value value = encode(Describe<T>::type(), member);
    return value.empty() ? Value() : value;
  }
  static constexpr MemberOps kOps{
      .shape = Shape::Object, .type = &Describe<T>::type, .decode = read, .encode = write};
};

template <class E>
struct Of<std::optional<E>> {
  static void read(const Value& value, void* member) {
    if (!value.is_null()) {
      Of<E>::kOps.decode(value, &static_cast<std::optional<E>*>(member)->emplace());
    }
  }
  static Value write(const void* member) {
    const auto& optional = *static_cast<const std::optional<E>*>(member);
    return optional ? encode_present(Of<E>::kOps, &*optional) : Value();
  }
  static constexpr MemberOps kOps{.shape = Of<E>::kOps.shape,
                                  .element = Of<E>::kOps.element,
                                  .type = Of<E>::kOps.type,
                                  .format = Of<E>::kOps.format,
                                  .decode = read,
                                  .encode = write};
};

template <class E>
struct Of<std::vector<E>> {
  static void read(const Value& value, void* member) {
    auto& list = *static_cast<std::vector<E>*>(member);
    list.clear();
    for (const Value& item : value.items()) {
      Of<E>::kOps.decode(item, &list.emplace_back());
    }
  }
  static Value write(const void* member) {
    Value value;
    for (const E& item : *static_cast<const std::vector<E>*>(member)) {
      value.push_back(encode_present(Of<E>::kOps, &item));
    }
    return value;
  }
  static constexpr MemberOps kOps{
      .shape = Shape::List, .element = &Of<E>::kOps, .decode = read, .encode = write};
};

template <class E>
struct Of<std::map<std::string, E>> {
  static void read(const Value& value, void* member) {
    auto& map = *static_cast<std::map<std::string, E>*>(member);
    map.clear();
    for (const Member& entry : value.members()) {
      Of<E>::kOps.decode(entry.value, &map[std::string(entry.key())]);
    }
  }
  static Value write(const void* member) {
    Value value;
    for (const auto& [key, item] : *static_cast<const std::map<std::string, E>*>(member)) {
      value.set(key, encode_present(Of<E>::kOps, &item));
    }
    return value;
  }
  static constexpr MemberOps kOps{
      .shape = Shape::Map, .element = &Of<E>::kOps, .decode = read, .encode = write};
};

template <auto P>
struct MemberOf;
template <class C, class M, M C::*P>
struct MemberOf<P> {
  using Type = M;
  static void* get(void* object) { return &(static_cast<C*>(object)->*P); }
};

}  // namespace ops

template <class M>
constexpr const MemberOps& ops_of() {
  return ops::Of<M>::kOps;
}

// Returns one row of a field table: where the value lives, its JSON name, its documentation, its
// schema facts.
template <auto MemberPointer>
constexpr FieldInfo field(std::string_view name, std::string_view doc, const Rules& rules = {}) {
  using At = ops::MemberOf<MemberPointer>;
  return {.name = name,
          .doc = doc,
          .ops = &ops_of<typename At::Type>(),
          .member = At::get,
          .rules = rules};
}

// Returns a field that the schema has and the struct lacks: of an older version, or served and
// stored only.
template <class M>
constexpr FieldInfo schema_field(std::string_view name, std::string_view doc,
                                 const Rules& rules = {}) {
  return {.name = name, .doc = doc, .ops = &ops_of<M>(), .member = nullptr, .rules = rules};
}

}  // namespace athanor::api
