// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/structural_schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "kube/schema/structural_checks.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/regex.hpp"

namespace athanor {
namespace {

std::optional<std::int64_t> integer(const Value& node, std::string_view name) {
  const Value& value = node[name];
  return value.is_number() ? std::optional<std::int64_t>(value.as_int()) : std::nullopt;
}

std::optional<double> number(const Value& node, std::string_view name) {
  const Value& value = node[name];
  return value.is_number() ? std::optional<double>(value.as_double()) : std::nullopt;
}

SchemaType type_of(const Value& node) {
  if (node["x-kubernetes-int-or-string"].as_bool()) {
    return SchemaType::IntOrString;
  }
  const std::string_view type = node["type"].as_string();
  if (type == "object") {
    return SchemaType::Object;
  }
  if (type == "array") {
    return SchemaType::List;
  }
  if (type == "string") {
    return SchemaType::String;
  }
  if (type == "boolean") {
    return SchemaType::Boolean;
  }
  if (type == "integer") {
    return SchemaType::Integer;
  }
  return type == "number" ? SchemaType::Number : SchemaType::Any;
}

ListType list_type_of(const Value& node) {
  const std::string_view type = node["x-kubernetes-list-type"].as_string();
  if (type == "map") {
    return ListType::Map;
  }
  return type == "set" ? ListType::Set : ListType::Atomic;
}

}  // namespace

// Builds one StructuralSchema from a document that follows the rules.
class StructuralParser {
 public:
  explicit StructuralParser(StructuralSchema& owner) : owner_(owner) {}

  static std::shared_ptr<StructuralSchema> make() {
    // The constructor is private, and make_shared cannot be a friend.
    struct Access : StructuralSchema {};
    return std::make_shared<Access>();
  }

  void parse(const Value& open_api) {
    Schema& root = node(open_api);
    add_object_fields(root, open_api);
    owner_.root_ = &root;
  }

 private:
  Schema& node(const Value& value) {
    Schema& schema = owner_.arena_.emplace_back();
    schema.type = type_of(value);
    schema.description = value["description"].as_string();
    schema.format = value["format"].as_string();
    schema.nullable = value["nullable"].as_bool();
    schema.preserve_unknown = value["x-kubernetes-preserve-unknown-fields"].as_bool();
    schema.embedded_resource = value["x-kubernetes-embedded-resource"].as_bool();
    schema.rules = value["x-kubernetes-validations"];
    const Value* fallback = value.find("default");
    if (fallback != nullptr && (!fallback->is_null() || schema.nullable)) {
      schema.default_value = *fallback;
    }
    restrictions(value, schema);
    list(value, schema);
    object(value, schema);
    combinations(value, schema);
    if (schema.embedded_resource) {
      add_object_fields(schema, value);
    }
    return schema;
  }

  void restrictions(const Value& value, Schema& schema) {
    for (const Value& each : value["enum"].items()) {
      schema.enum_values.push_back(each);
    }
    schema.pattern = value["pattern"].as_string();
    schema.pattern_regex = regex(schema.pattern);
    schema.minimum = number(value, "minimum");
    schema.maximum = number(value, "maximum");
    schema.multiple_of = number(value, "multipleOf");
    schema.exclusive_minimum = value["exclusiveMinimum"].as_bool();
    schema.exclusive_maximum = value["exclusiveMaximum"].as_bool();
    schema.min_length = integer(value, "minLength");
    schema.max_length = integer(value, "maxLength");
    schema.min_items = integer(value, "minItems");
    schema.max_items = integer(value, "maxItems");
    schema.min_properties = integer(value, "minProperties");
    schema.max_properties = integer(value, "maxProperties");
  }

  std::shared_ptr<const Regex> regex(const std::string& pattern) {
    if (pattern.empty()) {
      return nullptr;
    }
    const auto found = owner_.patterns_.find(pattern);
    if (found != owner_.patterns_.end()) {
      return found->second;
    }
    Result<std::shared_ptr<const Regex>> compiled = Regex::compile(pattern);
    ATHANOR_CHECK(compiled.ok(), "check_structural has compiled every pattern");
    return owner_.patterns_.emplace(pattern, *std::move(compiled)).first->second;
  }

  void list(const Value& value, Schema& schema) {
    if (value["items"].is_object()) {
      schema.items = &node(value["items"]);
    }
    schema.list_type = list_type_of(value);
    for (const Value& key : value["x-kubernetes-list-map-keys"].items()) {
      schema.list_map_keys.push_back(key.str());
    }
  }

  void object(const Value& value, Schema& schema) {
    if (value["x-kubernetes-map-type"].as_string() == "atomic") {
      schema.map_type = MapType::Atomic;
    }
    for (const Value& name : value["required"].items()) {
      schema.required.push_back(name.str());
    }
    for (const Member& member : value["properties"].members()) {
      SchemaField field;
      field.name = member.key();
      const Schema& below = node(member.value);
      field.schema = &below;
      field.default_value = below.default_value;
      field.description = below.description;
      field.required = std::find(schema.required.begin(), schema.required.end(), field.name) !=
                       schema.required.end();
      schema.fields.push_back(std::move(field));
    }
    schema.index_fields();
    const Value& additional = value["additionalProperties"];
    if (additional.is_object()) {
      schema.additional = &node(additional);
    } else if (additional.as_bool()) {
      Schema& any = owner_.arena_.emplace_back();
      any.preserve_unknown = true;
      any.nullable = true;
      schema.additional = &any;
    }
  }

  void combinations(const Value& value, Schema& schema) {
    for (const Value& part : value["allOf"].items()) {
      schema.all_of.push_back(&node(part));
    }
    for (const Value& part : value["anyOf"].items()) {
      schema.any_of.push_back(&node(part));
    }
    for (const Value& part : value["oneOf"].items()) {
      schema.one_of.push_back(&node(part));
    }
    if (value["not"].is_object()) {
      schema.not_schema = &node(value["not"]);
    }
  }

  // What every object has. A restriction of metadata.name stays in force inside ObjectMeta.
  void add_object_fields(Schema& schema, const Value& value) {
    for (const std::string_view name : {"apiVersion", "kind"}) {
      if (schema.field(name) == nullptr) {
        Schema& text = owner_.arena_.emplace_back();
        text.type = SchemaType::String;
        SchemaField field;
        field.name = name;
        field.schema = &text;
        schema.fields.push_back(std::move(field));
        schema.index_fields();
      }
    }
    std::erase_if(schema.fields, [](const SchemaField& field) { return field.name == "metadata"; });
    const SchemaPtr builtin = BuiltinTypes::get().by_name("meta.ObjectMeta");
    SchemaField metadata;
    metadata.name = "metadata";
    metadata.schema = builtin;
    const Value& restricted = value["properties"]["metadata"]["properties"];
    if (!restricted.empty()) {
      Schema& copy = owner_.arena_.emplace_back(*builtin);
      for (SchemaField& field : copy.fields) {
        if (restricted.contains(field.name)) {
          field.schema = &node(restricted[field.name]);
        }
      }
      metadata.schema = &copy;
    }
    schema.fields.push_back(std::move(metadata));
    schema.index_fields();
  }

  StructuralSchema& owner_;
};

Result<StructuralSchema::Ptr, std::vector<FieldError>> StructuralSchema::parse(
    const Value& open_api, std::string_view path) {
  std::vector<FieldError> errors = check_structural(open_api, path);
  if (!errors.empty()) {
    return errors;
  }
  std::shared_ptr<StructuralSchema> schema = StructuralParser::make();
  StructuralParser(*schema).parse(open_api);
  errors = check_defaults(open_api, *schema->root(), path);
  if (!errors.empty()) {
    return errors;
  }
  return Ptr(std::move(schema));
}

std::size_t StructuralSchema::pattern_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [text, regex] : patterns_) {
    bytes += regex->size_bytes();
  }
  return bytes;
}

Result<std::vector<CrdVersionSchema>, std::vector<FieldError>> parse_crd_schemas(
    const Value& crd_spec) {
  const Value& versions = crd_spec["versions"];
  const auto schema_of = [&versions](std::size_t i) -> const Value& {
    return versions[i]["schema"]["openAPIV3Schema"];
  };
  bool equal = true;
  for (std::size_t i = 1; i < versions.size(); ++i) {
    equal = equal && schema_of(i) == schema_of(0);
  }
  std::vector<CrdVersionSchema> schemas;
  std::vector<FieldError> errors;
  std::size_t pattern_bytes = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string own_path = fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    if (!schema_of(i).is_object()) {
      errors.push_back(FieldError::required(own_path));
      continue;
    }
    if (equal && i > 0 && !schemas.empty()) {
      schemas.push_back({.version = versions[i]["name"].str(), .schema = schemas[0].schema});
      continue;
    }
    auto parsed = StructuralSchema::parse(
        schema_of(i), equal ? std::string("spec.validation.openAPIV3Schema") : own_path);
    if (!parsed.ok()) {
      errors.insert(errors.end(), parsed.error().begin(), parsed.error().end());
      if (equal) {
        break;
      }
      continue;
    }
    pattern_bytes += (*parsed)->pattern_bytes();
    if (pattern_bytes > kMostRegexBytes) {
      errors.push_back(
          FieldError::forbidden(own_path, "the patterns of all versions take too much memory"));
      break;
    }
    schemas.push_back({.version = versions[i]["name"].str(), .schema = *std::move(parsed)});
  }
  if (!errors.empty()) {
    return errors;
  }
  return schemas;
}

}  // namespace athanor
