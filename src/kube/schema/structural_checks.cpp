// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/structural_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>
#include <string>

#include "base/cancellation.hpp"
#include "kube/schema/embedded_objects.hpp"
#include "kube/schema/prune.hpp"
#include "kube/schema/validate.hpp"
#include "kube/text/regex.hpp"

namespace athanor {
namespace {

enum class Level : std::uint8_t { Root, Field, Item };

constexpr std::array<std::string_view, 12> kUnsupported = {
    "$ref", "additionalItems",   "definitions", "dependencies", "deprecated", "discriminator",
    "id",   "patternProperties", "readOnly",    "writeOnly",    "xml",        "$schema"};

constexpr std::array<std::string_view, 3> kCombinations = {"allOf", "anyOf", "oneOf"};

bool flag(const Value& node, std::string_view name) {
  return node[name].as_bool();
}

std::string key_path(std::string_view path, std::string_view map, std::string_view key) {
  return fmt::format("{}.{}[{}]", path, map, key);
}

std::string child(std::string_view path, std::string_view name) {
  return fmt::format("{}.{}", path, name);
}

// The spelling that goes with x-kubernetes-int-or-string: anyOf [{type: integer}, {type: string}],
// also as the first of allOf.
bool is_int_or_string_union(const Value& any_of) {
  return any_of.size() == 2 && any_of[0] == Value::object({{"type", "integer"}}) &&
         any_of[1] == Value::object({{"type", "string"}});
}

class StructuralChecker {
 public:
  void check(const Value& node, const std::string& path, Level level) {
    check_forbidden(node, path);
    check_type(node, path, level);
    check_list(node, path);
    check_map(node, path);
    check_pattern(node, path);
    if (level == Level::Root) {
      check_metadata(node, path);
    }
    for (const std::string_view name : kCombinations) {
      for (std::size_t i = 0; i < node[name].size(); ++i) {
        nested(node[name][i], fmt::format("{}.{}[{}]", path, name, i), node);
      }
    }
    if (node["not"].is_object()) {
      nested(node["not"], child(path, "not"), node);
    }
    for (const Member& member : node["properties"].members()) {
      give_up_if_cancelled();
      check(member.value, key_path(path, "properties", member.key()), Level::Field);
    }
    if (node["items"].is_object()) {
      check(node["items"], child(path, "items"), Level::Item);
    }
    if (node["additionalProperties"].is_object()) {
      check(node["additionalProperties"], child(path, "additionalProperties"), Level::Field);
    }
  }

  std::vector<FieldError> take() { return std::move(errors_); }

 private:
  void forbid(const std::string& path, std::string_view name, std::string_view text) {
    errors_.push_back(FieldError::forbidden(child(path, name), text));
  }
  void require(const std::string& path, std::string_view name, std::string_view text) {
    errors_.push_back(FieldError::required(child(path, name), text));
  }
  void invalid(const std::string& path, std::string_view name, const Value& value,
               std::string_view text) {
    errors_.push_back(FieldError::invalid(child(path, name), value, text));
  }

  // The other value is refused; none at all is missing.
  void require_or_refuse(const std::string& path, std::string_view name, const Value& value,
                         std::string_view text) {
    if (value.as_string().empty()) {
      require(path, name, text);
    } else {
      invalid(path, name, value, text);
    }
  }

  void check_forbidden(const Value& node, const std::string& path) {
    for (const std::string_view name : kUnsupported) {
      const Value* value = node.find(name);
      if (value != nullptr && !value->is_null()) {
        forbid(path, name, fmt::format("{} is not supported", name));
      }
    }
    if (flag(node, "uniqueItems")) {
      forbid(path, "uniqueItems",
             "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    if (node["items"].is_list()) {
      forbid(path, "items", "items must be a schema object and not an array");
    }
    const Value* preserve = node.find("x-kubernetes-preserve-unknown-fields");
    if (preserve != nullptr && preserve->is_bool() && !preserve->as_bool()) {
      invalid(path, "x-kubernetes-preserve-unknown-fields", false, "must be true or undefined");
    }
    const Value* additional = node.find("additionalProperties");
    if (additional != nullptr && *additional != Value(true) && !node["properties"].empty()) {
      forbid(path, "additionalProperties",
             "additionalProperties and properties are mutual exclusive");
    }
  }

  void check_type(const Value& node, const std::string& path, Level level) {
    const std::string_view type = node["type"].as_string();
    if (level == Level::Root) {
      if (type.empty()) {
        require(path, "type", "must not be empty at the root");
      } else if (type != "object") {
        invalid(path, "type", node["type"], "must be object at the root");
      }
      return;
    }
    if (flag(node, "x-kubernetes-int-or-string")) {
      if (!type.empty()) {
        invalid(path, "type", node["type"], "must be empty if x-kubernetes-int-or-string is true");
      }
      return;
    }
    if (flag(node, "x-kubernetes-embedded-resource") && type != "object") {
      if (type.empty()) {
        require(path, "type", "must be object if x-kubernetes-embedded-resource is true");
      } else {
        invalid(path, "type", node["type"],
                "must be object if x-kubernetes-embedded-resource is true");
      }
      return;
    }
    if (type.empty()) {
      if (!flag(node, "x-kubernetes-preserve-unknown-fields")) {
        require(path, "type",
                level == Level::Item ? "must not be empty for specified array items"
                                     : "must not be empty for specified object fields");
      }
      return;
    }
    const std::vector<std::string> types = {"array",  "boolean", "integer",
                                            "number", "object",  "string"};
    if (std::find(types.begin(), types.end(), type) == types.end()) {
      errors_.push_back(FieldError::not_supported(child(path, "type"), node["type"], types));
    }
    if (type == "array" && !node.contains("items")) {
      require(path, "items", "must be specified");
    }
  }

  void check_list(const Value& node, const std::string& path) {
    const std::string_view list_type = node["x-kubernetes-list-type"].as_string();
    const Value& keys = node["x-kubernetes-list-map-keys"];
    if (list_type != "map" && !keys.empty()) {
      require_or_refuse(path, "x-kubernetes-list-type", node["x-kubernetes-list-type"],
                        "must be map if x-kubernetes-list-map-keys is non-empty");
    }
    if (list_type.empty()) {
      return;
    }
    if (node["type"].as_string() != "array") {
      require_or_refuse(path, "type", node["type"],
                        "must be array if x-kubernetes-list-type is specified");
    }
    if (list_type != "map" && list_type != "set" && list_type != "atomic") {
      errors_.push_back(FieldError::not_supported(child(path, "x-kubernetes-list-type"),
                                                  node["x-kubernetes-list-type"],
                                                  {"atomic", "map", "set"}));
    }
    if (list_type == "map") {
      if (keys.empty()) {
        require(path, "x-kubernetes-list-map-keys",
                "must not be empty if x-kubernetes-list-type is map");
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        check_list_key(node, path, i);
      }
    }
    if (list_type == "set") {
      const Value& items = node["items"];
      const bool atomic = items["type"].as_string() == "array"
                              ? items["x-kubernetes-list-type"].str() != "map" &&
                                    items["x-kubernetes-list-type"].str() != "set"
                              : items["type"].as_string() != "object" ||
                                    items["x-kubernetes-map-type"].as_string() == "atomic";
      if (!atomic) {
        invalid(child(path, "items"), "x-kubernetes-map-type", items["x-kubernetes-map-type"],
                "must be atomic as item of a list with x-kubernetes-list-type=set");
      }
    }
  }

  void check_list_key(const Value& node, const std::string& path, std::size_t index) {
    const Value& key = node["x-kubernetes-list-map-keys"][index];
    const std::string_view name = key.as_string();
    const Value& items = node["items"];
    const Value* property = items["properties"].find(name);
    if (property == nullptr) {
      invalid(path, fmt::format("x-kubernetes-list-map-keys[{}]", index), key,
              "entries must all be names of item properties");
      return;
    }
    const std::string property_path = key_path(child(path, "items"), "properties", name);
    const std::string_view type = (*property)["type"].as_string();
    if (type == "array" || type == "object") {
      invalid(property_path, "type", type,
              "must be a scalar type if parent array's x-kubernetes-list-type is map");
    }
    const auto required = items["required"].items();
    if (!property->contains("default") &&
        std::find(required.begin(), required.end(), key) == required.end()) {
      require(property_path, "default",
              "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
              "required property");
    }
  }

  void check_map(const Value& node, const std::string& path) {
    const std::string_view map_type = node["x-kubernetes-map-type"].as_string();
    if (map_type.empty()) {
      return;
    }
    if (map_type != "atomic" && map_type != "granular") {
      errors_.push_back(FieldError::not_supported(child(path, "x-kubernetes-map-type"),
                                                  node["x-kubernetes-map-type"],
                                                  {"atomic", "granular"}));
    }
    if (node["type"].as_string() != "object") {
      require_or_refuse(path, "type", node["type"],
                        "must be object if x-kubernetes-map-type is specified");
    }
  }

  void check_pattern(const Value& node, const std::string& path) {
    const Value& pattern = node["pattern"];
    if (!pattern.is_string() || pattern.as_string().empty()) {
      return;
    }
    if (pattern_bytes_ > kMostRegexBytes) {
      return;
    }
    const auto regex = Regex::compile(pattern.as_string());
    if (!regex.ok()) {
      invalid(path, "pattern", pattern,
              "must be a valid regular expression, but isn't: " + regex.error().message);
      pattern_bytes_ += regex.error().code == 413 ? kRefusedRegexBytes : 0;
    } else if (patterns_.insert(pattern.str()).second) {
      pattern_bytes_ += (*regex)->size_bytes();
    }
    if (pattern_bytes_ > kMostRegexBytes) {
      invalid(path, "pattern", pattern, "the patterns of the schema take too much memory");
    }
  }

  // metadata may be declared, but only name and generateName restricted.
  void check_metadata(const Value& node, const std::string& path) {
    for (const Member& member : node["properties"]["metadata"]["properties"].members()) {
      if (member.key() != "name" && member.key() != "generateName") {
        errors_.push_back(FieldError::forbidden(
            key_path(path, "properties", "metadata"),
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"));
        return;
      }
    }
  }

  // A schema inside allOf, anyOf, oneOf or not: value restrictions alone, also of fields that
  // `outer` does not declare.
  void nested(const Value& node, const std::string& path, const Value& outer) {
    check_forbidden_nested(node, path, outer);
    check_list(node, path);
    check_map(node, path);
    check_pattern(node, path);
    for (const Member& member : node["properties"].members()) {
      nested(member.value, key_path(path, "properties", member.key()),
             outer["properties"][member.key()]);
    }
    if (node["items"].is_object()) {
      nested(node["items"], child(path, "items"), outer["items"]);
    }
    for (const std::string_view name : kCombinations) {
      for (std::size_t i = 0; i < node[name].size(); ++i) {
        nested(node[name][i], fmt::format("{}.{}[{}]", path, name, i), outer);
      }
    }
    if (node["not"].is_object()) {
      nested(node["not"], child(path, "not"), outer);
    }
  }

  void check_forbidden_nested(const Value& node, const std::string& path, const Value& outer) {
    struct Rule {
      std::string_view name{};
      std::string_view text{};
    };
    static constexpr std::array<Rule, 13> kRules = {{
        {"type", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"title", "must be empty to be structural"},
        {"default", "must be undefined to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"nullable", "must be false to be structural"},
        {"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    }};
    for (const Rule& rule : kRules) {
      const Value* value = node.find(rule.name);
      const bool set = value != nullptr && !value->is_null() &&
                       (!value->is_bool() || value->as_bool()) &&
                       (!value->is_string() || !value->as_string().empty());
      if (!set || (rule.name == "type" && flag(outer, "x-kubernetes-int-or-string") &&
                   (is_int_or_string_union(outer["anyOf"]) ||
                    is_int_or_string_union(outer["allOf"][0]["anyOf"])))) {
        continue;
      }
      forbid(path, rule.name, rule.text);
    }
  }

  std::vector<FieldError> errors_{};
  std::set<std::string, std::less<>> patterns_{};
  std::size_t pattern_bytes_ = 0;  // of those
};

class DefaultChecker {
 public:
  void check(const Value& node, const Schema& schema, const std::string& path) {
    if (too_large_) {
      return;
    }
    const Value* value = node.find("default");
    if (value != nullptr && !(value->is_null() && schema.default_value == std::nullopt)) {
      check_default(*value, schema, child(path, "default"));
    }
    for (const Member& member : node["properties"].members()) {
      const SchemaField* field = schema.field(member.key());
      if (field != nullptr && field->schema->name.empty()) {
        check(member.value, *field->schema, key_path(path, "properties", member.key()));
      }
    }
    if (schema.items != nullptr) {
      check(node["items"], *schema.items, child(path, "items"));
    }
    if (schema.additional != nullptr && node["additionalProperties"].is_object()) {
      check(node["additionalProperties"], *schema.additional, child(path, "additionalProperties"));
    }
  }

  std::vector<FieldError> take() { return std::move(errors_); }

 private:
  void check_default(const Value& value, const Schema& schema, const std::string& path) {
    FieldIssues issues;
    if (!(prune_custom(value, schema, &issues) == value)) {
      errors_.push_back(FieldError::invalid(path, value, "must not have unknown fields"));
    }
    const Result<Value> whole = default_custom(value, schema);
    if (!whole.ok()) {
      errors_.push_back(FieldError::invalid(path, Value(), whole.error().message));
      too_large_ = true;
      return;
    }
    std::vector<FieldError> broken = validate(*whole, schema);
    std::ranges::move(validate_embedded(*whole, schema), std::back_inserter(broken));
    for (FieldError& error : broken) {
      if (error.field != "<nil>") {
        error.field = error.field.empty() || error.field.starts_with('[')
                          ? path + error.field
                          : child(path, error.field);
      }
      errors_.push_back(std::move(error));
    }
  }

  std::vector<FieldError> errors_{};
  bool too_large_ = false;  // a default with its defaults: one such text is enough
};

}  // namespace

std::vector<FieldError> check_structural(const Value& open_api, std::string_view path) {
  StructuralChecker checker;
  checker.check(open_api, std::string(path), Level::Root);
  return checker.take();
}

std::vector<FieldError> check_defaults(const Value& open_api, const Schema& schema,
                                       std::string_view path) {
  DefaultChecker checker;
  checker.check(open_api, schema, std::string(path));
  return checker.take();
}

}  // namespace athanor
