// SPDX-License-Identifier: Apache-2.0
// Documents of version 3 to one of version 2: schemas, parameters, bodies and answers move.
#include "kube/openapi/openapi_v2.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace athanor {
namespace {

constexpr std::string_view kComponents = "#/components/schemas/";
constexpr std::string_view kDefinitions = "#/definitions/";
constexpr std::array<std::string_view, 6> kInexpressible = {"allOf", "anyOf",    "oneOf",
                                                            "not",   "nullable", "default"};

bool inexpressible(std::string_view key) {
  return std::find(kInexpressible.begin(), kInexpressible.end(), key) != kInexpressible.end();
}

std::string moved_reference(std::string_view reference) {
  if (reference.starts_with(kComponents)) {
    reference.remove_prefix(kComponents.size());
    return std::string(kDefinitions) + std::string(reference);
  }
  return std::string(reference);
}

Value schema_map(const Value& schemas) {
  Value result = Value::object();
  for (const Member& member : schemas.members()) {
    result.set(member.key(), openapi_v2_schema(member.value));
  }
  return result;
}

// The reference of a schema that adds a description or a default to it.
const Value* only_reference(const Value& schema) {
  const Value* const all = schema.find("allOf");
  return all != nullptr && all->size() == 1 ? all->items()[0].find("$ref") : nullptr;
}

Value parameter_of(const Value& parameter) {
  Value result = Value::object();
  for (const Member& member : parameter.members()) {
    if (member.key() != "schema") {
      result.set(member.key(), member.value);
    }
  }
  const Value& schema = parameter["schema"];
  for (const Member& member : schema.members()) {
    result.set(member.key(), member.value);
  }
  return result;
}

Value parameters_of(const Value& parameters) {
  Value result = Value::list();
  for (const Value& parameter : parameters.items()) {
    result.push_back(parameter_of(parameter));
  }
  return result;
}

// The schema of the first media type; all of them go into `types`.
const Value* first_schema(const Value& content, Value& types) {
  const Value* schema = nullptr;
  for (const Member& member : content.members()) {
    const Value type(member.key());
    const auto known = types.items();
    if (std::find(known.begin(), known.end(), type) == known.end()) {
      types.push_back(type);
    }
    schema = schema == nullptr ? member.value.find("schema") : schema;
  }
  return schema;
}

Value operation_of(const Value& operation) {
  Value result = Value::object();
  Value parameters = parameters_of(operation["parameters"]);
  Value consumes = Value::list();
  Value produces = Value::list();
  for (const Member& member : operation.members()) {
    if (member.key() == "parameters") {
      continue;
    }
    if (member.key() == "requestBody") {
      Value body = Value::object({{"name", "body"}, {"in", "body"}});
      if (const Value* schema = first_schema(member.value["content"], consumes)) {
        body.set("schema", openapi_v2_schema(*schema));
      }
      parameters.push_back(body.set("required", member.value["required"]));
    } else if (member.key() == "responses") {
      Value responses = Value::object();
      for (const Member& code : member.value.members()) {
        Value response = Value::object({{"description", code.value["description"]}});
        if (const Value* schema = first_schema(code.value["content"], produces)) {
          response.set("schema", openapi_v2_schema(*schema));
        }
        responses.set(code.key(), std::move(response));
      }
      result.set("responses", std::move(responses));
    } else {
      result.set(member.key(), member.value);
    }
  }
  result.set("consumes", consumes.empty() ? Value::list({"*/*"}) : std::move(consumes));
  result.set("produces", std::move(produces));
  result.set("schemes", Value::list({"https"}));
  if (!parameters.empty()) {
    result.set("parameters", std::move(parameters));
  }
  return result;
}

Value path_item_of(const Value& item) {
  Value result = Value::object();
  for (const Member& member : item.members()) {
    result.set(member.key(), member.key() == "parameters" ? parameters_of(member.value)
                                                          : operation_of(member.value));
  }
  return result;
}

// A definition that several documents have: its kinds are those of all of them.
void add_definition(std::map<std::string, Value, std::less<>>& definitions, const Member& member) {
  const auto [place, fresh] = definitions.try_emplace(std::string(member.key()), member.value);
  if (fresh) {
    return;
  }
  constexpr std::string_view kKinds = "x-kubernetes-group-version-kind";
  Value kinds = place->second[kKinds];
  const Value& more = member.value[kKinds];
  for (const Value& kind : more.items()) {
    const auto known = kinds.items();
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      kinds.push_back(kind);
    }
  }
  if (!kinds.empty()) {
    place->second.set(kKinds, std::move(kinds));
  }
}

constexpr std::string_view kPreserves = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kKindsOf = "x-kubernetes-group-version-kind";

// kubectl reads version 2 as if whatever is not named were forbidden, and fails on a null where a
// type is named.
bool names_no_type(const Value& v3_schema) {
  return v3_schema[kPreserves].as_bool() || v3_schema["nullable"].as_bool();
}

// The schema of a value that may have unknown fields or be null, without what kubectl would hold
// it to.
Value untyped(const Value& v3_schema) {
  const Value& kinds = v3_schema[kKindsOf];
  if (!kinds.is_null()) {
    return Value::object({{"type", "object"}, {kKindsOf, kinds}});
  }
  const std::string_view type = v3_schema["type"].as_string();
  Value result = v3_schema;
  for (const std::string_view key : {"properties", "items"}) {
    result.erase(key);
  }
  if (v3_schema["nullable"].as_bool() || type == "object" || type == "array") {
    result.erase("type");
  }
  return result;
}

// The required properties of a schema that cannot be null.
Value required_of(const Value& v3_schema) {
  Value result = Value::list();
  if (v3_schema["additionalProperties"]["nullable"].as_bool()) {
    return result;
  }
  for (const Value& name : v3_schema["required"].items()) {
    if (!v3_schema["properties"][name.as_string()]["nullable"].as_bool()) {
      result.push_back(name);
    }
  }
  return result;
}

}  // namespace

Value openapi_v2_schema(const Value& v3_schema) {
  if (names_no_type(v3_schema)) {
    Value plain = untyped(v3_schema);
    for (const std::string_view key : kInexpressible) {
      plain.erase(key);
    }
    if (plain["additionalProperties"].is_object()) {
      plain.set("additionalProperties", openapi_v2_schema(v3_schema["additionalProperties"]));
    }
    return plain;
  }
  Value result = Value::object();
  if (const Value* reference = only_reference(v3_schema)) {
    result.set("$ref", moved_reference(reference->as_string()));
  }
  for (const Member& member : v3_schema.members()) {
    const std::string_view key = member.key();
    if (key == "$ref") {
      result.set(key, moved_reference(member.value.as_string()));
    } else if (key == "properties") {
      result.set(key, schema_map(member.value));
    } else if (key == "items" || (key == "additionalProperties" && member.value.is_object())) {
      result.set(key, openapi_v2_schema(member.value));
    } else if (key == "required" && member.value.is_list()) {
      if (Value required = required_of(v3_schema); !required.empty()) {
        result.set(key, std::move(required));
      }
    } else if (!inexpressible(key)) {
      result.set(key, member.value);
    }
  }
  if (v3_schema.contains("oneOf") && !result.contains("type")) {
    result.set("type", "string");  // quantities, numbers or text
  }
  return result;
}

Value openapi_v2_document(std::span<const Value> v3_documents) {
  std::map<std::string, Value, std::less<>> definitions;
  Value paths = Value::object();
  for (const Value& document : v3_documents) {
    const Value& schemas = document["components"]["schemas"];
    for (const Member& member : schemas.members()) {
      add_definition(definitions, member);
    }
    const Value& items = document["paths"];
    for (const Member& member : items.members()) {
      paths.set(member.key(), path_item_of(member.value));
    }
  }
  Value moved = Value::object();
  for (const auto& [name, schema] : definitions) {
    moved.set(name, openapi_v2_schema(schema));
  }
  const Value token = Value::object({{"description", "Bearer token"},
                                     {"type", "apiKey"},
                                     {"name", "authorization"},
                                     {"in", "header"}});
  return Value::object(
      {{"swagger", "2.0"},
       {"info", Value::object({{"title", "Kubernetes"}, {"version", "v1.35.4"}})},
       {"paths", std::move(paths)},
       {"definitions", std::move(moved)},
       {"securityDefinitions", Value::object({{"BearerToken", token}})},
       {"security", Value::list({Value::object({{"BearerToken", Value::list()}})})}});
}

}  // namespace athanor
