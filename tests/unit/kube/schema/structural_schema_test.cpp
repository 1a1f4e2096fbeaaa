// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/structural_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

namespace athanor::structural_schema_test {
namespace {

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

std::vector<std::string> errors_of(std::string_view open_api) {
  auto schema = StructuralSchema::parse(parse(open_api), "P");
  std::vector<std::string> texts;
  if (!schema.ok()) {
    for (const FieldError& error : schema.error()) {
      texts.push_back(error.text());
    }
  }
  return texts;
}

// The schema of an object with one property `a`.
std::vector<std::string> errors_of_property(std::string_view property) {
  return errors_of("{\"type\":\"object\",\"properties\":{\"a\":" + std::string(property) + "}}");
}

TEST(StructuralSchema, ReadsTypesAndExtensions) {
  auto parsed = StructuralSchema::parse(parse(R"({"type":"object","properties":{
      "port":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
      "raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
              "items":{"type":"object","required":["n"],"properties":{"n":{"type":"string"}}}},
      "labels":{"type":"object","x-kubernetes-map-type":"atomic",
                "additionalProperties":{"type":"string"}},
      "template":{"type":"object","x-kubernetes-embedded-resource":true,
                  "x-kubernetes-preserve-unknown-fields":true},
      "size":{"type":"integer","minimum":1,"default":3}}})"),
                                        "P");
  ASSERT_TRUE(parsed.ok());
  const SchemaPtr root = (*parsed)->root();
  EXPECT_EQ(root->field("port")->schema->type, SchemaType::IntOrString);
  EXPECT_TRUE(root->field("raw")->schema->preserve_unknown);
  EXPECT_EQ(root->field("list")->schema->list_type, ListType::Map);
  EXPECT_EQ(root->field("list")->schema->list_map_keys, std::vector<std::string>{"n"});
  EXPECT_TRUE(root->field("list")->schema->items->field("n")->required);
  EXPECT_EQ(root->field("labels")->schema->map_type, MapType::Atomic);
  EXPECT_EQ(root->field("labels")->schema->additional->type, SchemaType::String);
  EXPECT_EQ(root->field("size")->default_value, Value(3));
  const SchemaPtr object_meta = BuiltinTypes::get().by_name("meta.ObjectMeta");
  EXPECT_EQ(root->field("metadata")->schema, object_meta);
  EXPECT_EQ(root->field("template")->schema->field("metadata")->schema, object_meta);
  EXPECT_NE(root->field("kind"), nullptr);
}

TEST(StructuralSchema, RefusesNonStructuralSchemas) {
  const struct {
    std::string_view open_api, error;
  } cases[] = {
      {R"({})", "P.type: Required value: must not be empty at the root"},
      {R"({"type":"string"})", "P.type: Invalid value: \"string\": must be object at the root"},
      {R"({"type":"object","properties":{"a":{}}})",
       "P.properties[a].type: Required value: must not be empty for specified object fields"},
      {R"({"type":"object","properties":{"a":{"type":"array","items":{}}}})",
       "P.properties[a].items.type: Required value: must not be empty for specified array items"},
      {R"({"type":"object","properties":{"a":{"type":"object"}},
           "additionalProperties":{"type":"string"}})",
       "P.additionalProperties: Forbidden: additionalProperties and properties are mutual "
       "exclusive"},
      {R"({"type":"object","properties":{"metadata":{"type":"object","properties":{
           "labels":{"type":"object"}}}}})",
       "P.properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but metadata is implicitly specified"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(errors_of(c.open_api), testing::Contains(std::string(c.error))) << c.open_api;
  }
}

TEST(StructuralSchema, TakesPropertiesBesideAnyOthers) {
  EXPECT_THAT(errors_of(R"({"type":"object","properties":{"spec":{"type":"object",
                            "properties":{"a":{"type":"string"}},"additionalProperties":true}}})"),
              testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"type":"object","properties":{"spec":{"type":"object",
                            "properties":{"a":{"type":"string"}},"additionalProperties":false}}})"),
              testing::Contains("P.properties[spec].additionalProperties: Forbidden: "
                                "additionalProperties and properties are mutual exclusive"));
}

TEST(StructuralSchema, RefusesBadProperties) {
  const struct {
    std::string_view property, error;
  } cases[] = {
      {R"({"type":"string","uniqueItems":true})",
       "P.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the "
       "runtime complexity becomes quadratic"},
      {R"({"$ref":"#/x","type":"string"})",
       "P.properties[a].$ref: Forbidden: $ref is not supported"},
      {R"({"type":"text"})",
       "P.properties[a].type: Unsupported value: \"text\": supported values: \"array\", "
       "\"boolean\", \"integer\", \"number\", \"object\", \"string\""},
      {R"({"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}})",
       "P.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
       "x-kubernetes-list-type is map"},
      {R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
           "items":{"type":"object","properties":{"k":{"type":"string"}}}})",
       "P.properties[a].items.properties[k].default: Required value: this property is in "
       "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
      {R"({"type":"object","anyOf":[{"type":"object"}]})",
       "P.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
      {R"({"type":"object","allOf":[{"x-kubernetes-validations":[{"rule":"true"}]}]})",
       "P.properties[a].allOf[0].x-kubernetes-validations: Forbidden: must be empty to be "
       "structural"},
      {R"({"type":"object","anyOf":[{"allOf":[{"properties":{"b":{
           "x-kubernetes-validations":[{"rule":"true"}]}}}]}]})",
       "P.properties[a].anyOf[0].allOf[0].properties[b].x-kubernetes-validations: Forbidden: must "
       "be empty to be structural"},
      {R"({"type":"object","not":{"items":{"x-kubernetes-validations":[{"rule":"true"}]}}})",
       "P.properties[a].not.items.x-kubernetes-validations: Forbidden: must be empty to be "
       "structural"},
      {R"({"type":"object","allOf":[{"x-kubernetes-list-type":"set"}]})",
       "P.properties[a].allOf[0].type: Required value: must be array if x-kubernetes-list-type is "
       "specified"},
      {R"({"type":"object","allOf":[{"x-kubernetes-map-type":"atomic"}]})",
       "P.properties[a].allOf[0].type: Required value: must be object if x-kubernetes-map-type is "
       "specified"},
      {R"({"type":"object","allOf":[{"x-kubernetes-list-map-keys":["a"]}]})",
       "P.properties[a].allOf[0].x-kubernetes-list-type: Required value: must be map if "
       "x-kubernetes-list-map-keys is non-empty"},
      {R"({"type":"integer","default":"x"})",
       "P.properties[a].default: Invalid value: \"string\":  in body must be of type integer: "
       "\"string\""},
      {R"({"type":"object","properties":{"b":{"type":"string"}},"default":{"c":1}})",
       "P.properties[a].default: Invalid value: {\"c\":1}: must not have unknown fields"},
      {R"({"type":"string","x-kubernetes-preserve-unknown-fields":false})",
       "P.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true "
       "or undefined"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(errors_of_property(c.property), testing::Contains(std::string(c.error)))
        << c.property;
  }
  EXPECT_THAT(errors_of_property(R"({"type":"string","pattern":"("})"),
              testing::ElementsAre(testing::StartsWith(
                  "P.properties[a].pattern: Invalid value: \"(\": must be a valid regular")));
}

TEST(StructuralSchema, AcceptsIntOrStringUnions) {
  EXPECT_THAT(
      errors_of_property(
          R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],
                      "pattern":"^[0-9]+%?$"})"),
      testing::IsEmpty());
  EXPECT_THAT(
      errors_of_property(
          R"({"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}]})"),
      testing::IsEmpty());
}

TEST(CrdSchemas, PathsDependOnTheNumberOfDifferentSchemas) {
  const auto first_error = [](std::string_view spec) {
    auto parsed = parse_crd_schemas(parse(spec));
    return parsed.ok() ? std::string("ok") : parsed.error().front().field;
  };
  EXPECT_EQ(first_error(R"({"versions":[{"name":"v1","schema":{"openAPIV3Schema":{}}}]})"),
            "spec.validation.openAPIV3Schema.type");
  EXPECT_EQ(
      first_error(R"({"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}},
                            {"name":"v2","schema":{"openAPIV3Schema":{}}}]})"),
      "spec.versions[1].schema.openAPIV3Schema.type");
  EXPECT_EQ(first_error(R"({"versions":[{"name":"v1"}]})"),
            "spec.versions[0].schema.openAPIV3Schema");
  auto parsed = parse_crd_schemas(
      parse(R"({"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}},
                {"name":"v2","schema":{"openAPIV3Schema":{"type":"object"}}}]})"));
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2U);
  EXPECT_EQ((*parsed)[1].version, "v2");
  EXPECT_EQ((*parsed)[0].schema, (*parsed)[1].schema);
}

}  // namespace
}  // namespace athanor::structural_schema_test
