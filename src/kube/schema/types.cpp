// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/check.hpp"
#include "kube/schema/data.hpp"
#include "kube/schema/resources.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text_table.hpp"

namespace athanor {
namespace {

using text_table::split;
using text_table::take;

// Types that appear in answers alone and therefore are in no request schema of Appendix S.
constexpr std::string_view kAnswerTypes =
    "T meta.PartialObjectMetadata\n"
    " apiVersion - str\n"
    " kind - str\n"
    " metadata 1 .ObjectMeta +\n"
    "T meta.PartialObjectMetadataList\n"
    " apiVersion - str\n"
    " items 2 [].PartialObjectMetadata + !\n"
    " kind - str\n"
    " metadata 1 .ListMeta +\n";

struct SpecialType {
  std::string_view name{};
  SchemaType type = SchemaType::Any;
  std::string_view format{};
};
// Types whose JSON and protobuf forms are not their fields (docs/spec/apiserver.md 5.3).
constexpr std::array<SpecialType, 6> kSpecialTypes = {{
    {"Quantity", SchemaType::Quantity, ""},
    {"IntOrString", SchemaType::IntOrString, "int-or-string"},
    {"RawExtension", SchemaType::RawExtension, ""},
    {"meta.Time", SchemaType::Time, "date-time"},
    {"meta.MicroTime", SchemaType::MicroTime, "date-time"},
    {"meta.FieldsV1", SchemaType::Fields, ""},
}};

struct Scalar {
  std::string_view token{};
  SchemaType type = SchemaType::Any;
  std::string_view format{};
};
constexpr std::array<Scalar, 8> kScalars = {{
    {"str", SchemaType::String, ""},
    {"bool", SchemaType::Boolean, ""},
    {"int32", SchemaType::Integer, "int32"},
    {"int64", SchemaType::Integer, "int64"},
    {"double", SchemaType::Number, "double"},
    {"bytes", SchemaType::Bytes, "byte"},
    {"object", SchemaType::RawExtension, ""},
    {"any", SchemaType::Any, ""},
}};

constexpr std::string_view kJsonSchema = "apiextensions.v1.JSONSchemaProps";

// The flags of one field line.
struct Flags {
  bool always_present = false;
  bool required = false;
  bool merge = false;  // p: the key comes from lm=
  std::optional<ListType> list_type{};
  std::vector<std::string> list_keys{};
  std::string_view list_text{};  // l= or lm= as written
  std::optional<MapType> map_type{};
  std::string_view patch{};  // p=STRATEGY[:KEY]
  std::optional<Value> default_value{};
  std::vector<std::string> enum_values{};
};

std::optional<MapType> parse_map_type(std::string_view text) {
  if (text == "atomic") {
    return MapType::Atomic;
  }
  if (text == "granular") {
    return MapType::Granular;
  }
  return std::nullopt;
}

bool parse_list_flag(std::string_view name, std::string_view value, Flags& flags) {
  flags.list_text = value;
  if (name == "lm") {
    flags.list_type = ListType::Map;
    flags.list_keys = split(value, ',');
    return !flags.list_keys.empty();
  }
  flags.list_type = value == "set" ? ListType::Set : ListType::Atomic;
  return value == "set" || value == "atomic";
}

// One word behind the type; false when it is none that Appendix S knows.
bool parse_flag(std::string_view word, Flags& flags) {
  if (word == "+") {
    flags.always_present = true;
    return true;
  }
  if (word == "!") {
    flags.required = true;
    return true;
  }
  if (word == "p") {
    flags.merge = true;
    return true;
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return false;
  }
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (name == "l" || name == "lm") {
    return parse_list_flag(name, value, flags);
  }
  if (name == "m") {
    flags.map_type = parse_map_type(value);
    return flags.map_type.has_value();
  }
  if (name == "p") {
    flags.patch = value;
    return !value.empty();
  }
  if (name == "d") {
    Result<Value> parsed = json::parse(value);
    if (parsed.ok()) {
      flags.default_value = std::move(parsed).value();
    }
    return flags.default_value.has_value();
  }
  if (name == "e") {
    flags.enum_values = split(value, '|');
    return !flags.enum_values.empty();
  }
  return false;
}

bool parse_proto(std::string_view text, ProtoPath& path) {
  if (text == "-") {
    return true;
  }
  while (!text.empty()) {
    const std::string_view part = take(text, '.');
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number == 0) {
      return false;
    }
    path.push_back(number);
  }
  return !path.empty();
}

}  // namespace

// Builds BuiltinTypes: first all names, then the fields, which may refer to any of them.
class TypesParser {
 public:
  explicit TypesParser(BuiltinTypes& types) : types_(types) {}

  Result<void> parse(const BuiltinTypes::Sources& sources) {
    for (const BuiltinResource& resource : builtin_resources()) {
      types_.groups_.insert(resource.group);
    }
    for (const std::string_view text : {sources.types, kAnswerTypes}) {
      ATHANOR_TRY_VOID(declare_types(text));
    }
    for (const std::string_view text : {sources.types, kAnswerTypes}) {
      ATHANOR_TRY_VOID(define_types(text));
    }
    add_list_types();
    ATHANOR_TRY_VOID(mark_presence(sources.presence));
    ATHANOR_TRY_VOID(add_descriptions(sources.descriptions));
    link_json_schemas();
    for (Schema& schema : types_.arena_) {
      if (!schema.fields.empty() && schema.field_places.empty()) {
        schema.index_fields();
      }
    }
    return {};
  }

 private:
  static Error malformed(std::string_view table, std::string_view line) {
    return Error::internal(fmt::format("{} table: malformed line: {}", table, line));
  }

  Schema& declare(std::string_view name) {
    Schema& schema = types_.arena_.emplace_back();
    schema.type = SchemaType::Object;
    schema.name = BuiltinTypes::openapi_name(name);
    types_.by_name_.emplace(name, &schema);
    types_.by_openapi_.emplace(schema.name, &schema);
    mutable_.emplace(name, &schema);
    return schema;
  }

  // T PKG.Type [= scalar fmt=...] [map=atomic] [union=...] [oneOf]
  Result<void> declare_types(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      if (!line.starts_with("T ")) {
        continue;
      }
      std::string_view rest = line.substr(2);
      const std::string_view name = take(rest, ' ');
      if (name.empty() || mutable_.contains(name)) {
        return malformed("type", line);
      }
      Schema& schema = declare(name);
      while (!rest.empty()) {
        const std::string_view word = take(rest, ' ');
        if (word == "=") {
          schema.type = SchemaType::Any;
          take(rest, ' ');
        } else if (word == "map=atomic") {
          schema.map_type = MapType::Atomic;
        } else if (word != "oneOf" && !word.starts_with("fmt=") && !word.starts_with("union=")) {
          return malformed("type", line);
        }
      }
      for (const SpecialType& special : kSpecialTypes) {
        if (special.name == name) {
          schema.type = special.type;
          schema.format = special.format;
        }
      }
    }
    return {};
  }

  Result<void> define_types(std::string_view text) {
    Schema* current = nullptr;
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      if (line.empty()) {
        continue;
      }
      if (line.starts_with("T ")) {
        std::string_view rest = line.substr(2);
        const std::string_view name = take(rest, ' ');
        current = mutable_.find(name)->second;
        const std::size_t dot = name.rfind('.');
        package_ = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
      } else if (current == nullptr || !add_field(*current, line)) {
        return malformed("type", line);
      }
    }
    return {};
  }

  // " name num type flags"
  bool add_field(Schema& owner, std::string_view line) {
    if (!line.starts_with(' ')) {
      return false;
    }
    std::string_view rest = line.substr(1);
    SchemaField field;
    field.name = take(rest, ' ');
    if (field.name.empty() || !parse_proto(take(rest, ' '), field.proto)) {
      return false;
    }
    const std::string_view type = take(rest, ' ');
    Flags flags;
    while (!rest.empty()) {
      if (!parse_flag(take(rest, ' '), flags)) {
        return false;
      }
    }
    field.schema = resolve(type, flags);
    field.always_present = flags.always_present;
    field.required = flags.required;
    field.default_value = std::move(flags.default_value);
    field.enum_values = std::move(flags.enum_values);
    field.map_type = flags.map_type;
    if (flags.merge) {
      field.patch_strategy = "merge";
      field.patch_merge_key = flags.list_keys.empty() ? std::string() : flags.list_keys.front();
    } else if (!flags.patch.empty()) {
      field.patch_strategy = take(flags.patch, ':');
      field.patch_merge_key = flags.patch;
    }
    owner.fields.push_back(std::move(field));
    return owner.fields.back().schema != nullptr;
  }

  // The schema of a type word; anonymous ones are shared by equal words. nullptr when unknown.
  SchemaPtr resolve(std::string_view word, const Flags& flags) {
    if (word.starts_with("[]") || word.starts_with("{}")) {
      return resolve_container(word, flags);
    }
    for (const Scalar& scalar : kScalars) {
      if (scalar.token == word) {
        Schema*& schema = anonymous_[std::string(word)];
        if (schema == nullptr) {
          schema = &types_.arena_.emplace_back();
          schema->type = scalar.type;
          schema->format = scalar.format;
        }
        return schema;
      }
    }
    return types_.by_name(word.starts_with('.') ? std::string(package_).append(word)
                                                : std::string(word));
  }

  SchemaPtr resolve_container(std::string_view word, const Flags& flags) {
    const SchemaPtr element = resolve(word.substr(2), {});
    if (element == nullptr) {
      return nullptr;
    }
    const bool list = word.starts_with("[]");
    // The element's address distinguishes equal names of different packages.
    std::string key = fmt::format("{}{} {} {}", word.substr(0, 2), fmt::ptr(element),
                                  list ? flags.list_text : std::string_view(),
                                  flags.map_type == MapType::Atomic ? "atomic" : "");
    Schema*& schema = anonymous_[std::move(key)];
    if (schema != nullptr) {
      return schema;
    }
    schema = &types_.arena_.emplace_back();
    if (list) {
      schema->type = SchemaType::List;
      schema->items = element;
      schema->list_type = flags.list_type.value_or(ListType::Atomic);
      schema->list_map_keys = flags.list_keys;
    } else {
      schema->type = SchemaType::Object;
      schema->additional = element;
      schema->map_type = flags.map_type.value_or(MapType::Granular);
    }
    return schema;
  }

  // KindList of every resource that can be listed.
  void add_list_types() {
    for (const BuiltinResource& resource : builtin_resources()) {
      const SchemaPtr item = types_.by_kind(resource.group, resource.version, resource.kind);
      if (item == nullptr || !resource.has_verb("list")) {
        continue;
      }
      std::string_view group = resource.group;
      const std::string name =
          fmt::format("{}.{}.{}List", group.empty() ? "core" : take(group, '.'), resource.version,
                      resource.kind);
      if (mutable_.contains(name)) {
        continue;
      }
      package_ = {};
      Schema& items = types_.arena_.emplace_back();
      items.type = SchemaType::List;
      items.items = item;
      Schema& list = declare(name);
      add_field(list, " apiVersion - str");
      SchemaField field;
      field.name = "items";
      field.schema = &items;
      field.required = true;
      field.always_present = true;
      field.proto = {2};
      list.fields.push_back(std::move(field));
      add_field(list, " kind - str");
      add_field(list, " metadata 1 meta.ListMeta +");
    }
  }

  SchemaField* find_field(Schema& schema, std::string_view name) {
    const auto found = std::find_if(schema.fields.begin(), schema.fields.end(),
                                    [&](const SchemaField& field) { return field.name == name; });
    return found == schema.fields.end() ? nullptr : &*found;
  }

  // TYPE field field ...
  Result<void> mark_presence(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      std::string_view rest = line;
      const auto type = mutable_.find(take(rest, ' '));
      if (type == mutable_.end()) {
        return malformed("presence", line);
      }
      while (!rest.empty()) {
        SchemaField* field = find_field(*type->second, take(rest, ' '));
        if (field == nullptr) {
          return malformed("presence", line);
        }
        field->presence = true;
      }
    }
    return {};
  }

  // "TYPE text" and, indented, its fields' "NAME text"; those of "*" fill what is left.
  Result<void> add_descriptions(std::string_view text) {
    std::map<std::string, std::string, std::less<>> general;
    Schema* type = nullptr;
    bool in_general = false;
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      std::string_view rest = line;
      if (!line.starts_with(' ')) {
        const auto found = mutable_.find(take(rest, ' '));
        type = found == mutable_.end() ? nullptr : found->second;
        in_general = line == "*";
        if (type == nullptr && !in_general) {
          return malformed("description", line);
        }
        if (type != nullptr) {
          type->description = rest;
        }
        continue;
      }
      rest.remove_prefix(1);
      const std::string_view name = take(rest, ' ');
      SchemaField* field = type == nullptr ? nullptr : find_field(*type, name);
      if (rest.empty() || (field == nullptr && !in_general)) {
        return malformed("description", line);
      }
      if (in_general) {
        general.emplace(name, rest);
      } else {
        field->description = rest;
      }
    }
    fill_descriptions(general);
    return {};
  }

  void fill_descriptions(const std::map<std::string, std::string, std::less<>>& general) {
    for (const auto& [type_name, schema] : mutable_) {
      for (SchemaField& field : schema->fields) {
        const auto found = general.find(field.name);
        if (field.description.empty() && found != general.end()) {
          field.description = found->second;
        }
      }
    }
  }

  // The "schema or something else" types of a CustomResourceDefinition: an object in them is a
  // schema.
  void link_json_schemas() {
    const SchemaPtr props = types_.by_name(kJsonSchema);
    for (const char* suffix : {"OrArray", "OrBool", "OrStringArray"}) {
      const auto found = mutable_.find(std::string(kJsonSchema) + suffix);
      if (found != mutable_.end() && props != nullptr) {
        found->second->any_of = {props};
      }
    }
  }

  BuiltinTypes& types_;
  std::map<std::string, Schema*, std::less<>> mutable_{};
  std::map<std::string, Schema*, std::less<>> anonymous_{};
  std::string_view package_{};
};

Result<BuiltinTypes> BuiltinTypes::parse(const Sources& sources) {
  BuiltinTypes types;
  ATHANOR_TRY_VOID(TypesParser(types).parse(sources));
  return types;
}

const BuiltinTypes& BuiltinTypes::get() {
  static const BuiltinTypes kTypes = [] {
    Result<BuiltinTypes> parsed = parse({.types = data::types_text(),
                                         .presence = data::presence_text(),
                                         .descriptions = data::descriptions_text()});
    ATHANOR_CHECK(parsed.ok(), parsed.error().message.c_str());
    return std::move(parsed).value();
  }();
  return kTypes;
}

SchemaPtr BuiltinTypes::by_name(std::string_view name) const {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    return found->second;
  }
  const auto found = by_openapi_.find(name);
  return found == by_openapi_.end() ? nullptr : found->second;
}

SchemaPtr BuiltinTypes::by_kind(std::string_view group, std::string_view version,
                                std::string_view kind) const {
  const bool known = groups_.contains(group);
  if (known) {
    std::string_view rest = group;
    const std::string_view package = group.empty() ? "core" : take(rest, '.');
    const auto found = by_name_.find(fmt::format("{}.{}.{}", package, version, kind));
    if (found != by_name_.end()) {
      return found->second;
    }
  }
  static constexpr std::array<std::string_view, 8> kSentAlone = {"DeleteOptions",
                                                                 "Status",
                                                                 "WatchEvent",
                                                                 "PartialObjectMetadata",
                                                                 "PartialObjectMetadataList",
                                                                 "APIGroup",
                                                                 "APIGroupList",
                                                                 "APIResourceList"};
  if ((known || group == "meta.k8s.io") &&
      std::find(kSentAlone.begin(), kSentAlone.end(), kind) != kSentAlone.end()) {
    const auto found = by_name_.find(std::string("meta.").append(kind));
    return found == by_name_.end() ? nullptr : found->second;
  }
  return nullptr;
}

std::string BuiltinTypes::openapi_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPrefixes = {{
      {"meta.", "io.k8s.apimachinery.pkg.apis.meta.v1."},
      {"version.", "io.k8s.apimachinery.pkg.version."},
      {"Quantity", "io.k8s.apimachinery.pkg.api.resource.Quantity"},
      {"IntOrString", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
      {"RawExtension", "io.k8s.apimachinery.pkg.runtime.RawExtension"},
      {"apiextensions.v1.", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."},
      {"apiregistration.v1.", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1."},
  }};
  for (const auto& [prefix, full] : kPrefixes) {
    if (name.starts_with(prefix)) {
      return std::string(full).append(name.substr(prefix.size()));
    }
  }
  return std::string("io.k8s.api.").append(name);
}

}  // namespace athanor
