// SPDX-License-Identifier: Apache-2.0
// Types are declared once: a table of fields per C++ struct, from which come reading, printing, the
// CRD manifest, defaults, validation and the reference page (docs/architecture.md).
//
// A struct is a view for reading and a builder for writing, never the storage format: what a struct
// does not know stays in the Value it was read from.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/time.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::api {

enum class Shape : std::uint8_t {
  String,
  Integer,
  Number,
  Boolean,
  Quantity,
  Time,
  Any,
  Object,
  List,
  Map
};

struct TypeInfo;

// How one C++ member type is read and written; one static object per type (ops_of below).
struct MemberOps {
  Shape shape = Shape::Any;
  const MemberOps* element = nullptr;   // of a List or Map
  const TypeInfo& (*type)() = nullptr;  // of an Object
  std::string_view format{};  // schema format implied by the C++ type ("int32", "date-time")
  void (*decode)(const Value& value,
                 void* member) = nullptr;         // a value of another type leaves the default
  Value (*encode)(const void* member) = nullptr;  // Null: absent
};

// Schema facts of one field. Text fields are empty when they do not apply.
struct Rules {
  bool required = false;
  bool nullable = false;
  bool preserve_unknown = false;  // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;
  bool int_or_string = false;
  std::string_view default_json{};  // "60", "\"1h\"", "{}"
  std::string_view enum_values{};   // "Stop|Terminate"
  std::string_view pattern{};
  std::string_view item_pattern{};  // of a list's string items
  std::string_view
      item_json{};  // further schema keys of a list's items or a map's values: {"maxLength": 63}
  std::string_view format{};  // "int64"; Instant and int32 members set theirs by themselves
  std::optional<double> minimum{}, maximum{};
  std::optional<std::int64_t> min_length{}, max_length{}, min_items{}, max_items{},
      min_properties{}, max_properties{};
  std::string_view list_type{};         // "atomic", "set", "map"
  std::string_view list_keys{};         // "name" or "group,name"
  std::string_view map_type{};          // "atomic"
  std::string_view validations_json{};  // x-kubernetes-validations as a JSON list
  std::string_view schema_json{};       // replaces the generated schema of this field altogether
};

struct FieldInfo {
  std::string_view name{};
  std::string_view doc{};
  const MemberOps* ops = nullptr;
  void* (*member)(void* object) = nullptr;  // nullptr: known to the schema alone, not to the struct
  Rules rules{};
};

struct TypeInfo {
  std::string_view name{};  // "FournosJobSpec"
  std::string_view doc{};
  std::span<const FieldInfo> fields{};
  std::string_view validations_json{};
  bool preserve_unknown = false;
};

// Specialised per described struct by ATHANOR_DESCRIBED, which is used outside any namespace and
// names the struct in full: ATHANOR_DESCRIBED(athanor::api::FournosJob); type() is defined beside
// the field table.
template <class T>
struct Describe;
#define ATHANOR_DESCRIBED(T)                       \
  template <>                                      \
  struct athanor::api::Describe<T> {               \
    static const ::athanor::api::TypeInfo& type(); \
  }

template <class T>
concept Described = requires {
  { Describe<T>::type() } -> std::same_as<const TypeInfo&>;
};

// Reads every declared field that is present; anything else keeps its default.
void decode(const TypeInfo& type, const Value& value, void* object);
// Writes every member that differs from "absent" (empty optional, empty string, empty container).
Value encode(const TypeInfo& type, const void* object);

template <Described T>
T decode(const Value& value) {
  T object{};
  decode(Describe<T>::type(), value, &object);
  return object;
}
template <Described T>
Value encode(const T& object) {
  return encode(Describe<T>::type(), &object);
}

// The member types a described struct may use: bool, int64, int32, double, string, Instant,
// Quantity, Value, described structs, and optional, vector and string-keyed map of these.
// ops_of<M>() and field<>() live in describe_ops.hpp, which only the .cpp files with field tables
// include.

// A printed column of a kind.
struct PrinterColumn {
  std::string_view name{}, type{}, json_path{};
  int priority = 0;
  std::string_view doc{};
};

struct VersionInfo {
  std::string_view name{};  // "v1beta2"
  bool served = true, storage = true;
  std::string_view deprecation_warning{};  // deprecated when not empty
  const TypeInfo& (*type)() = nullptr;     // the root: spec, status or whatever lies at the top
  bool status_subresource = true;
  std::span<const PrinterColumn> columns{};
  std::span<const std::string_view> selectable_fields{};
};

// Everything a CRD manifest says about one custom kind.
struct CustomKind {
  const Kind* kind = nullptr;  // of the storage version
  std::string_view singular{};
  std::span<const std::string_view> short_names{};
  std::span<const std::string_view> categories{};
  std::span<const VersionInfo>
      versions{};  // by default CRDs carry no conversion; see the kind's own header
  std::span<const std::pair<std::string_view, std::string_view>> annotations{};
};

// Returns the CustomResourceDefinition manifest (apiextensions.k8s.io/v1).
Value crd_manifest(const CustomKind& custom);
// Returns the openAPIV3Schema of a root type, with apiVersion, kind and metadata added.
Value open_api_schema(const TypeInfo& root);
// Returns the schema of one described type, as it is below a root.
Value object_schema(const TypeInfo& type);

// Reads a custom object whole: T has `Object object` and described members.
template <Described T>
T read(const Object& object) {
  T typed = decode<T>(object.body());
  typed.object = object;
  return typed;
}

}  // namespace athanor::api
