// SPDX-License-Identifier: Apache-2.0
// Schema: one description of a type for everything that walks objects: validation, defaults,
// pruning, patches, server-side apply, OpenAPI documents, protobuf. Built-in kinds (types.hpp) and
// custom resources (structural_schema.hpp) both become this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

class Regex;
struct Schema;
// Schemas are immutable once built and live as long as their owner (the built-in types for the
// whole run, a custom resource's with its CRD version); recursion is possible, hence plain
// pointers.
using SchemaPtr = const Schema*;

// g++ 12 takes the scoped enumerator Duration for a name that shadows athanor::Duration.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class SchemaType : std::uint8_t {
  Any,
  Object,
  List,
  String,
  Boolean,
  Integer,
  Number,
  IntOrString,
  Quantity,
  Time,
  MicroTime,
  Bytes,
  RawExtension,
  Fields,
  Duration,
};
#pragma GCC diagnostic pop
enum class ListType : std::uint8_t { Atomic, Set, Map };
enum class MapType : std::uint8_t { Granular, Atomic };

// How protobuf carries a field: the chain of field numbers ("2.1": field 1 inside embedded field
// 2); empty = not at all.
using ProtoPath = std::vector<std::uint32_t>;

struct SchemaField {
  std::string name{};
  SchemaPtr schema = nullptr;
  bool required = false;
  // Built-in kinds: printed even when empty (the "+" of Appendix S).
  bool always_present = false;
  // Built-in kinds: the zero value is a value (a pointer in the Go type); otherwise zero means
  // absent.
  bool presence = false;
  // For this use of the type; a List's own properties are in its schema.
  std::optional<MapType> map_type{};  // overrides the type's
  // Strategic merge: "" = replace; "merge"; "merge,retainKeys"; merge_key empty for primitive
  // lists.
  std::string patch_strategy{};
  std::string patch_merge_key{};
  ProtoPath proto{};
  std::optional<Value> default_value{};
  std::vector<std::string> enum_values{};  // Appendix S; a custom resource's enum is in its schema
  std::string description{};
};

struct Schema {
  SchemaType type = SchemaType::Any;
  // "io.k8s.api.core.v1.Pod" for named types; empty for anonymous ones.
  std::string name{};
  std::string description{};
  std::string format{};

  // Object. `fields` in declaration order; field(name) below finds one.
  std::vector<SchemaField> fields{};
  SchemaPtr additional = nullptr;  // map values
  MapType map_type = MapType::Granular;
  bool preserve_unknown = false;  // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;

  // List.
  SchemaPtr items = nullptr;
  ListType list_type = ListType::Atomic;
  std::vector<std::string> list_map_keys{};

  // Validation (custom resources).
  std::vector<std::string> required{};  // names, declared in `fields` or not
  bool nullable = false;
  std::optional<Value> default_value{};
  std::vector<Value> enum_values{};
  std::string pattern{};
  std::shared_ptr<const Regex> pattern_regex{};  // of `pattern`, shared by equal ones
  std::optional<double> minimum{}, maximum{}, multiple_of{};
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length{}, max_length{}, min_items{}, max_items{},
      min_properties{}, max_properties{};
  std::vector<SchemaPtr> all_of{}, any_of{}, one_of{};
  SchemaPtr not_schema = nullptr;
  Value rules{};  // x-kubernetes-validations, as written

  // Returns the declared field, or nullptr. Finds by hash: a normal form asks for every member's.
  [[nodiscard]] const SchemaField* field(std::string_view field_name) const;
  // Makes the lookup table; called once by the builder of `fields`.
  void index_fields();
  // At a name's hash or behind it, up to an empty place: its place in `fields`, counted from 1.
  std::vector<std::uint32_t> field_places{};
};

}  // namespace athanor
