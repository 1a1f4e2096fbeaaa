// SPDX-License-Identifier: Apache-2.0
// The numbers are those of the fields of openapi.v2 (gnostic's OpenAPIv2.proto). What no message
// has a field for stands as its JSON, which is YAML too, among the extensions.
#include "kube/openapi/openapi_v2_protobuf.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "kube/protobuf/protobuf_wire.hpp"
#include "kube/text/json.hpp"

namespace athanor {
namespace {

using protobuf::WireWriter;

enum class Form : std::uint8_t { Text, Texts, Flag, Integer, Real, Any, Anys };

struct Field {
  std::string_view name{};
  std::uint32_t number = 0;
  Form form = Form::Text;
};

std::string any(const Value& value) {
  constexpr std::uint32_t kYaml = 2;
  WireWriter writer;
  writer.bytes(kYaml, json::print(value));
  return writer.take();
}

// {name, value}: how maps are written.
std::string named(std::string_view name, std::string_view message) {
  WireWriter writer;
  writer.bytes(1, name);
  writer.bytes(2, message);
  return writer.take();
}

// A message of one field that is a message.
std::string wrapped(std::uint32_t number, std::string_view message) {
  WireWriter writer;
  writer.bytes(number, message);
  return writer.take();
}

void write_field(WireWriter& writer, const Field& field, const Value& value) {
  switch (field.form) {
    case Form::Text:
      writer.bytes(field.number, value.as_string());
      break;
    case Form::Texts:
      for (const Value& text : value.items()) {
        writer.bytes(field.number, text.as_string());
      }
      break;
    case Form::Flag:
      writer.varint(field.number, value.as_bool() ? 1 : 0);
      break;
    case Form::Integer:
      writer.varint(field.number, static_cast<std::uint64_t>(value.as_int()));
      break;
    case Form::Real:
      writer.fixed64(field.number, std::bit_cast<std::uint64_t>(value.as_double()));
      break;
    case Form::Any:
      writer.bytes(field.number, any(value));
      break;
    case Form::Anys:
      for (const Value& one : value.items()) {
        writer.bytes(field.number, any(one));
      }
      break;
  }
}

// Writes the plain fields of `object`, and its extensions under `extensions`.
void write_fields(WireWriter& writer, std::span<const Field> fields, std::uint32_t extensions,
                  const Value& object) {
  for (const Field& field : fields) {
    if (const Value* value = object.find(field.name)) {
      write_field(writer, field, *value);
    }
  }
  for (const Member& member : object.members()) {
    if (std::string_view(member.key()).starts_with("x-")) {
      writer.bytes(extensions, named(member.key(), any(member.value)));
    }
  }
}

constexpr std::array<Field, 21> kSchema = {{
    {"$ref", 1, Form::Text},
    {"format", 2, Form::Text},
    {"title", 3, Form::Text},
    {"description", 4, Form::Text},
    {"default", 5, Form::Any},
    {"multipleOf", 6, Form::Real},
    {"maximum", 7, Form::Real},
    {"exclusiveMaximum", 8, Form::Flag},
    {"minimum", 9, Form::Real},
    {"exclusiveMinimum", 10, Form::Flag},
    {"maxLength", 11, Form::Integer},
    {"minLength", 12, Form::Integer},
    {"pattern", 13, Form::Text},
    {"maxItems", 14, Form::Integer},
    {"minItems", 15, Form::Integer},
    {"uniqueItems", 16, Form::Flag},
    {"maxProperties", 17, Form::Integer},
    {"minProperties", 18, Form::Integer},
    {"required", 19, Form::Texts},
    {"enum", 20, Form::Anys},
    {"example", 30, Form::Any},
}};

std::string schema_message(const Value& schema) {
  constexpr std::uint32_t kAdditional = 21;
  constexpr std::uint32_t kType = 22;
  constexpr std::uint32_t kItems = 23;
  constexpr std::uint32_t kProperties = 25;
  constexpr std::uint32_t kExtensions = 31;
  WireWriter writer;
  write_fields(writer, kSchema, kExtensions, schema);
  if (const Value* additional = schema.find("additionalProperties")) {
    WireWriter item;
    if (additional->is_object()) {
      item.bytes(1, schema_message(*additional));
    } else {
      item.varint(2, additional->as_bool() ? 1 : 0);
    }
    writer.bytes(kAdditional, item.text());
  }
  if (const Value& type = schema["type"]; type.is_string()) {
    writer.bytes(kType, wrapped(1, type.as_string()));
  }
  if (const Value& items = schema["items"]; items.is_object()) {
    writer.bytes(kItems, wrapped(1, schema_message(items)));
  }
  if (const Value& properties = schema["properties"]; properties.is_object()) {
    WireWriter all;
    for (const Member& member : properties.members()) {
      all.bytes(1, named(member.key(), schema_message(member.value)));
    }
    writer.bytes(kProperties, all.text());
  }
  return writer.take();
}

constexpr std::array<Field, 4> kBodyParameter = {{{"description", 1, Form::Text},
                                                  {"name", 2, Form::Text},
                                                  {"in", 3, Form::Text},
                                                  {"required", 4, Form::Flag}}};
constexpr std::array<Field, 7> kPathParameter = {{{"required", 1, Form::Flag},
                                                  {"in", 2, Form::Text},
                                                  {"description", 3, Form::Text},
                                                  {"name", 4, Form::Text},
                                                  {"type", 5, Form::Text},
                                                  {"format", 6, Form::Text},
                                                  {"uniqueItems", 19, Form::Flag}}};
constexpr std::array<Field, 7> kQueryParameter = {{{"required", 1, Form::Flag},
                                                   {"in", 2, Form::Text},
                                                   {"description", 3, Form::Text},
                                                   {"name", 4, Form::Text},
                                                   {"type", 6, Form::Text},
                                                   {"format", 7, Form::Text},
                                                   {"uniqueItems", 20, Form::Flag}}};

// A ParametersItem.
std::string parameter_message(const Value& parameter) {
  constexpr std::uint32_t kBodySchema = 5;
  constexpr std::uint32_t kBodyExtensions = 6;
  constexpr std::uint32_t kPathExtensions = 22;
  constexpr std::uint32_t kQueryExtensions = 23;
  constexpr std::uint32_t kHeader = 1;
  constexpr std::uint32_t kQuery = 3;
  constexpr std::uint32_t kPath = 4;
  if (const Value* reference = parameter.find("$ref")) {
    return wrapped(2, wrapped(1, reference->as_string()));
  }
  const std::string_view place = parameter["in"].as_string();
  WireWriter writer;
  if (place == "body") {
    write_fields(writer, kBodyParameter, kBodyExtensions, parameter);
    writer.bytes(kBodySchema, schema_message(parameter["schema"]));
    return wrapped(1, wrapped(1, writer.text()));
  }
  const bool query = place == "query";
  if (query) {
    write_fields(writer, kQueryParameter, kQueryExtensions, parameter);
  } else {
    write_fields(writer, kPathParameter, kPathExtensions, parameter);
  }
  const std::uint32_t kind = query ? kQuery : place == "header" ? kHeader : kPath;
  return wrapped(1, wrapped(2, wrapped(kind, writer.text())));
}

std::string responses_message(const Value& responses) {
  WireWriter writer;
  for (const Member& member : responses.members()) {
    WireWriter response;
    response.bytes(1, member.value["description"].as_string());
    if (const Value* schema = member.value.find("schema")) {
      response.bytes(2, wrapped(1, schema_message(*schema)));
    }
    writer.bytes(1, named(member.key(), wrapped(1, response.text())));
  }
  return writer.take();
}

constexpr std::array<Field, 8> kOperation = {{{"tags", 1, Form::Texts},
                                              {"summary", 2, Form::Text},
                                              {"description", 3, Form::Text},
                                              {"operationId", 5, Form::Text},
                                              {"produces", 6, Form::Texts},
                                              {"consumes", 7, Form::Texts},
                                              {"schemes", 10, Form::Texts},
                                              {"deprecated", 11, Form::Flag}}};

std::string operation_message(const Value& operation) {
  constexpr std::uint32_t kParameters = 8;
  constexpr std::uint32_t kResponses = 9;
  constexpr std::uint32_t kExtensions = 13;
  WireWriter writer;
  write_fields(writer, kOperation, kExtensions, operation);
  for (const Value& parameter : operation["parameters"].items()) {
    writer.bytes(kParameters, parameter_message(parameter));
  }
  writer.bytes(kResponses, responses_message(operation["responses"]));
  return writer.take();
}

std::string path_item_message(const Value& item) {
  constexpr std::array<std::string_view, 7> kMethods = {"get",     "put",  "post", "delete",
                                                        "options", "head", "patch"};
  constexpr std::uint32_t kFirstMethod = 2;
  constexpr std::uint32_t kParameters = 9;
  WireWriter writer;
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (const Value* operation = item.find(kMethods[i])) {
      writer.bytes(kFirstMethod + static_cast<std::uint32_t>(i), operation_message(*operation));
    }
  }
  for (const Value& parameter : item["parameters"].items()) {
    writer.bytes(kParameters, parameter_message(parameter));
  }
  return writer.take();
}

// The one sort that there is: a key in a header.
std::string security_message(const Value& definitions) {
  constexpr std::array<Field, 4> kKey = {{{"type", 1, Form::Text},
                                          {"name", 2, Form::Text},
                                          {"in", 3, Form::Text},
                                          {"description", 4, Form::Text}}};
  constexpr std::uint32_t kKeyExtensions = 5;
  WireWriter writer;
  for (const Member& member : definitions.members()) {
    WireWriter key;
    write_fields(key, kKey, kKeyExtensions, member.value);
    writer.bytes(1, named(member.key(), wrapped(2, key.text())));
  }
  return writer.take();
}

}  // namespace

std::string openapi_v2_protobuf(const Value& document) {
  constexpr std::uint32_t kSwagger = 1;
  constexpr std::uint32_t kInfo = 2;
  constexpr std::uint32_t kPaths = 8;
  constexpr std::uint32_t kDefinitions = 9;
  constexpr std::uint32_t kSecurity = 12;
  constexpr std::uint32_t kSecurityDefinitions = 13;
  WireWriter writer;
  writer.bytes(kSwagger, document["swagger"].as_string());
  WireWriter info;
  info.bytes(1, document["info"]["title"].as_string());
  info.bytes(2, document["info"]["version"].as_string());
  writer.bytes(kInfo, info.text());
  WireWriter paths;
  const Value& items = document["paths"];
  for (const Member& member : items.members()) {
    paths.bytes(2, named(member.key(), path_item_message(member.value)));
  }
  writer.bytes(kPaths, paths.text());
  WireWriter definitions;
  const Value& schemas = document["definitions"];
  for (const Member& member : schemas.members()) {
    definitions.bytes(1, named(member.key(), schema_message(member.value)));
  }
  writer.bytes(kDefinitions, definitions.text());
  for (const Value& requirement : document["security"].items()) {
    for (const Member& member : requirement.members()) {
      writer.bytes(kSecurity, wrapped(1, named(member.key(), "")));
    }
  }
  writer.bytes(kSecurityDefinitions, security_message(document["securityDefinitions"]));
  return writer.take();
}

}  // namespace athanor
