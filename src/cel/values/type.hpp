// SPDX-License-Identifier: Apache-2.0
// Types of CEL expressions, and what a schema says about the values behind them: JSON names,
// largest sizes for cost estimates, how lists are compared (docs/spec/apiserver.md 13.5, typing).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/schema/schema.hpp"

namespace athanor::cel {

// g++ 12 takes the scoped enumerator Duration for a name that shadows athanor::Duration.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
// Kinds of types.
enum class TypeKind : std::uint8_t {
  Dyn,
  Error,
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  Timestamp,
  Duration,
  Type,
  List,
  Map,
  Optional,
  Opaque,  // by name: kubernetes.URL, net.IP, ...
  Object,  // declared fields
  Param,   // a type parameter of a signature
};
#pragma GCC diagnostic pop

struct Type;
using TypePtr = std::shared_ptr<const Type>;

// A declared field of an object type.
struct TypeField {
  std::string name{};  // in JSON; the CEL name is escaped (names.hpp)
  TypePtr type{};
};

// How a string of JSON becomes a value.
enum class TextFormat : std::uint8_t { Plain, Date, DateTime };

// A type with what its schema says; each member is for the kinds that it names.
struct Type {
  TypeKind kind = TypeKind::Dyn;
  std::string name{};                 // Object, Opaque, Param
  std::vector<TypePtr> parameters{};  // List: item; Map: key, value; Optional, Type: of what
  std::map<std::string, TypeField, std::less<>> fields{};  // Object, by CEL name
  TextFormat format = TextFormat::Plain;
  ListType list_type = ListType::Atomic;
  std::vector<std::string> list_map_keys{};
  // Most characters, bytes, items or entries; below zero: unknown.
  std::int64_t max_elements = -1;
  std::int64_t min_size = 1;  // bytes of the shortest JSON text
};

// Returns a type without parameters.
TypePtr simple_type(TypeKind kind);
// Returns a type with parameters, a name or fields.
TypePtr list_type(TypePtr item);
TypePtr map_type(TypePtr key, TypePtr value);
TypePtr optional_type(TypePtr of);
TypePtr type_type(TypePtr of);
TypePtr opaque_type(std::string_view name);
TypePtr param_type(std::string_view name);
TypePtr object_type(std::string_view name,
                    const std::vector<std::pair<std::string, TypePtr>>& fields);

// Shows it as messages do: "int", "list(string)", "map(string, dyn)", "google.protobuf.Timestamp".
std::string type_text(const Type& type);
// Compares structure and names alone; sizes do not matter.
bool same_type(const Type& a, const Type& b);
// Returns true where the type is unknown before the evaluation.
inline bool is_dyn(const Type& type) {
  return type.kind == TypeKind::Dyn || type.kind == TypeKind::Error;
}

}  // namespace athanor::cel
