// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/schema/structural_schema.hpp"
#include "kube/text/formats.hpp"
#include "kube/text/json.hpp"

namespace athanor::validate_test {
namespace {

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

StructuralSchema::Ptr spec_schema(std::string_view properties) {
  auto parsed = StructuralSchema::parse(
      parse(R"({"type":"object","properties":{"spec":{"type":"object","properties":)" +
            std::string(properties) + "}}}"),
      "P");
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.error().front().text();
    return nullptr;
  }
  return *parsed;
}

std::vector<std::string> texts(const std::vector<FieldError>& errors) {
  std::vector<std::string> all;
  for (const FieldError& error : errors) {
    all.push_back(error.reason + " " + error.text());
  }
  return all;
}

std::vector<std::string> errors_of(std::string_view properties, std::string_view spec) {
  const StructuralSchema::Ptr schema = spec_schema(properties);
  return texts(validate(parse("{\"spec\":" + std::string(spec) + "}"), *schema->root()));
}

// Each error names the path, and a key in it may be as long as the request.
TEST(Validate, ErrorsBelowALongKeyAreLimited) {
  std::string spec = "{\"" + std::string(1'000'000, 'k') + "\":{";
  for (int i = 0; i < 20'000; ++i) {
    spec += "\"a" + std::to_string(i) + "\":\"x\",";
  }
  const StructuralSchema::Ptr schema = spec_schema(
      R"({"m":{"type":"object","additionalProperties":{"type":"object",
          "additionalProperties":{"type":"integer"}}}})");
  const auto errors =
      validate(parse("{\"spec\":{\"m\":" + spec + "\"z\":\"x\"}}}}"), *schema->root());
  EXPECT_GE(errors.size(), 1U);
  EXPECT_LE(errors.size(), 20U);
}

TEST(Validate, TextsOfEveryKeyword) {
  const struct {
    std::string_view properties, spec, error;
  } cases[] = {
      {R"({"size":{"type":"integer"}})", R"({"size":"x"})",
       "FieldValueTypeInvalid spec.size: Invalid value: \"string\": spec.size in body must be of "
       "type integer: \"string\""},
      {R"({"p":{"x-kubernetes-int-or-string":true}})", R"({"p":1.5})",
       "FieldValueTypeInvalid spec.p: Invalid value: \"number\": spec.p in body must be of type "
       "integer,string: \"number\""},
      {R"({"size":{"type":"integer","maximum":10}})", R"({"size":30})",
       "FieldValueInvalid spec.size: Invalid value: 30: spec.size in body should be less than or "
       "equal to 10"},
      {R"({"size":{"type":"integer","minimum":1}})", R"({"size":0})",
       "FieldValueInvalid spec.size: Invalid value: 0: spec.size in body should be greater than "
       "or equal to 1"},
      {R"({"n":{"type":"number","minimum":0,"exclusiveMinimum":true}})", R"({"n":0})",
       "FieldValueInvalid spec.n: Invalid value: 0: spec.n in body should be greater than 0"},
      {R"({"n":{"type":"number","maximum":1,"exclusiveMaximum":true}})", R"({"n":1})",
       "FieldValueInvalid spec.n: Invalid value: 1: spec.n in body should be less than 1"},
      {R"({"num":{"type":"number","multipleOf":0.5}})", R"({"num":0.3})",
       "FieldValueInvalid spec.num: Invalid value: 0.3: spec.num in body should be a multiple of "
       "0.5"},
      {R"({"name":{"type":"string","minLength":2}})", R"({"name":"x"})",
       "FieldValueInvalid spec.name: Invalid value: \"x\": spec.name in body should be at least 2 "
       "chars long"},
      {R"({"name":{"type":"string","maxLength":5}})", R"({"name":"abcdef"})",
       "FieldValueTooLong spec.name: Too long: may not be more than 5 bytes"},
      {R"({"name":{"type":"string","pattern":"^[a-z]+$"}})", R"({"name":"ABC"})",
       "FieldValueInvalid spec.name: Invalid value: \"ABC\": spec.name in body should match "
       "'^[a-z]+$'"},
      {R"({"c":{"type":"string","enum":["red","blue"]}})", R"({"c":"green"})",
       "FieldValueNotSupported spec.c: Unsupported value: \"green\": supported values: \"red\", "
       "\"blue\""},
      {R"({"list":{"type":"array","minItems":1,"items":{"type":"string"}}})", R"({"list":[]})",
       "FieldValueInvalid spec.list: Invalid value: 0: spec.list in body should have at least 1 "
       "items"},
      {R"({"list":{"type":"array","maxItems":2,"items":{"type":"integer"}}})",
       R"({"list":[1,2,3]})",
       "FieldValueTooMany spec.list: Too many: 3: must have at most 2 items"},
      {R"({"m":{"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}}})",
       R"({"m":{"a":"","b":""}})",
       "FieldValueTooMany spec.m: Too many: 2: must have at most 1 item"},
      {R"({"m":{"type":"object","minProperties":1,"additionalProperties":{"type":"string"}}})",
       R"({"m":{}})",
       "FieldValueInvalid spec.m: Invalid value: 0: spec.m in body should have at least 1 "
       "properties"},
      {R"({"m":{"type":"object","additionalProperties":{"type":"string"}}})", R"({"m":{"k":1}})",
       "FieldValueTypeInvalid spec.m.k: Invalid value: \"integer\": spec.m.k in body must be of "
       "type string: \"integer\""},
      {R"({"date":{"type":"string","format":"date-time"}})", R"({"date":1})",
       "FieldValueTypeInvalid spec.date: Invalid value: \"int64\": spec.date in body must be of "
       "type "
       "date-time: \"int64\""},
      {R"({"date":{"type":"string","format":"date-time"}})", R"({"date":{}})",
       "FieldValueTypeInvalid spec.date: Invalid value: \"\": spec.date in body must be of type "
       "date-time: \"\""},
      {R"({"date":{"type":"string","format":"date-time"}})", R"({"date":"x"})",
       "FieldValueTypeInvalid spec.date: Invalid value: \"x\": spec.date in body must be of type "
       "date-time: \"x\""},
      {R"({"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}})",
       R"({"set":["a","a"]})", "FieldValueDuplicate spec.set[1]: Duplicate value: \"a\""},
      {R"({"mp":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
           "items":{"type":"object","required":["n"],"properties":{"n":{"type":"string"},
           "v":{"type":"integer"}}}}})",
       R"({"mp":[{"n":"1","v":1},{"n":"1","v":2}]})",
       "FieldValueDuplicate spec.mp[1]: Duplicate value: {\"n\":\"1\"}"},
      {R"({"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}})",
       R"({"set":["a","a","a"]})", "FieldValueDuplicate spec.set[1]: Duplicate value: \"a\""},
      {R"({"mp":{"type":"array","items":{"type":"object","required":["n"],
           "properties":{"n":{"type":"string"}}}}})",
       R"({"mp":[{"n":"1"},{"n":"2"},{}]})", "FieldValueRequired spec.mp[2].n: Required value"},
      {R"({"s":{"type":"string"}})", R"({"s":null})",
       "FieldValueTypeInvalid spec.s: Invalid value: \"null\": spec.s in body must be of type "
       "string: \"null\""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(errors_of(c.properties, c.spec), testing::ElementsAre(std::string(c.error)));
  }
}

TEST(Validate, ItemsWithoutKeysEndTheSearchForTwins) {
  EXPECT_THAT(
      errors_of(R"({"mp":{"type":"array","x-kubernetes-list-type":"map",
                    "x-kubernetes-list-map-keys":["n"],"items":{"type":"object",
                    "required":["n"],"properties":{"n":{"type":"string"}}}}})",
                R"({"mp":["A_b",null,7]})"),
      testing::UnorderedElementsAre(
          "FieldValueInvalid spec.mp[0]: Invalid value: \"A_b\": must be an object for an array of "
          "list-type map",
          "FieldValueTypeInvalid spec.mp[0]: Invalid value: \"string\": spec.mp[0] in body must be "
          "of type object: \"string\"",
          "FieldValueTypeInvalid spec.mp[1]: Invalid value: \"null\": spec.mp[1] in body must be "
          "of "
          "type object: \"null\"",
          "FieldValueTypeInvalid spec.mp[2]: Invalid value: \"integer\": spec.mp[2] in body must "
          "be "
          "of type object: \"integer\""));
}

TEST(Validate, AcceptsValidValues) {
  EXPECT_THAT(
      errors_of(R"({"size":{"type":"integer","minimum":1,"maximum":10}})", R"({"size":10})"),
      testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"f":{"type":"number"}})", R"({"f":1})"), testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"i":{"type":"integer"}})", R"({"i":2.0})"), testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"s":{"type":"string","nullable":true}})", R"({"s":null})"),
              testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"n":{"type":"string","pattern":"b"}})", R"({"n":"abc"})"),
              testing::IsEmpty());
  EXPECT_THAT(errors_of(R"({"n":{"type":"string","maxLength":3}})", R"({"n":"äöü"})"),
              testing::IsEmpty());
}

TEST(Validate, CombinationsNameNoField) {
  constexpr std::string_view kEither =
      R"({"h":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},
          "anyOf":[{"required":["x"]},{"required":["y"]}]}})";
  EXPECT_THAT(
      errors_of(kEither, R"({"h":{}})"),
      testing::ElementsAre(
          "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.h\" must validate at least one "
          "schema (anyOf)",
          "FieldValueRequired spec.h.x: Required value"));
  EXPECT_THAT(errors_of(kEither, R"({"h":{"y":1}})"), testing::IsEmpty());

  constexpr std::string_view kOne =
      R"({"h":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},
          "oneOf":[{"required":["x"]},{"required":["y"]}]}})";
  EXPECT_THAT(errors_of(kOne, R"({"h":{}})"),
              testing::Contains("FieldValueInvalid <nil>: Invalid value: \"\": \"spec.h\" must "
                                "validate one and only one schema (oneOf). Found none valid"));
  EXPECT_THAT(
      errors_of(kOne, R"({"h":{"x":1,"y":1}})"),
      testing::ElementsAre("FieldValueInvalid <nil>: Invalid value: \"\": \"spec.h\" must validate "
                           "one and only one schema (oneOf). Found 2 valid alternatives"));
  EXPECT_THAT(
      errors_of(R"({"h":{"type":"integer","allOf":[{"minimum":5},{"minimum":6}]}})", R"({"h":1})"),
      testing::Contains("FieldValueInvalid <nil>: Invalid value: \"\": \"spec.h\" must validate "
                        "all the schemas (allOf). None validated"));
  EXPECT_THAT(
      errors_of(R"({"h":{"type":"string","not":{"enum":["a"]}}})", R"({"h":"a"})"),
      testing::ElementsAre("FieldValueInvalid <nil>: Invalid value: \"\": \"spec.h\" must not "
                           "validate the schema (not)"));
}

TEST(Validate, RestrictsTheNameInsideMetadata) {
  auto schema = StructuralSchema::parse(
      parse(R"({"type":"object","properties":{"metadata":{"type":"object","properties":{
                "name":{"type":"string","maxLength":3}}}}})"),
      "P");
  ASSERT_TRUE(schema.ok());
  EXPECT_THAT(texts(validate(parse(R"({"metadata":{"name":"abcd"}})"), *(*schema)->root())),
              testing::ElementsAre(
                  "FieldValueTooLong metadata.name: Too long: may not be more than 3 bytes"));
  EXPECT_TRUE(validate(parse(R"({"metadata":{"name":"abc"}})"), *(*schema)->root()).empty());
}

TEST(Validate, IgnoresOldErrorsInUnchangedParts) {
  const StructuralSchema::Ptr schema =
      spec_schema(R"({"a":{"type":"integer","minimum":5},"b":{"type":"integer","minimum":5}})");
  const Value old_object = parse(R"({"spec":{"a":1,"b":9}})");
  const Value changed = parse(R"({"spec":{"a":1,"b":2}})");
  EXPECT_THAT(texts(validate(changed, *schema->root(), {.old_object = &old_object})),
              testing::ElementsAre(testing::HasSubstr("spec.b in body should be greater")));
  EXPECT_EQ(validate(changed, *schema->root()).size(), 2U);
}

TEST(Formats, KnowValidFromInvalid) {
  const struct {
    std::string_view format, good, bad;
  } cases[] = {
      {"bsonobjectid", "507f1f77bcf86cd799439011", "507f"},
      {"uri", "https://a.b/c", "not a uri"},
      {"email", "a@b.c", "ab.c"},
      {"hostname", "a-b.example.com", "a_b"},
      {"ipv4", "10.0.0.1", "10.0.0.256"},
      {"ipv6", "fe80::1", "10.0.0.1"},
      {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
      {"mac", "00:1a:2b:3c:4d:5e", "00:1a:2b"},
      {"uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7"},
      {"uuid4", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-1372-a567-0e02b2c3d479"},
      {"isbn10", "0-306-40615-2", "0-306-40615-3"},
      {"isbn13", "978-0-306-40615-7", "978-0-306-40615-8"},
      {"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"},
      {"ssn", "111-22-3333", "111"},
      {"hexcolor", "#ffcc00", "#ggg"},
      {"rgbcolor", "rgb(0, 10, 255)", "rgb(0,10,256)"},
      {"byte", "aGVsbG8=", "a"},
      {"date", "2026-11-20", "2026-13-20"},
      {"duration", "1h30m", "soon"},
      {"duration", "3 days", "3 apples"},
      {"date-time", "2026-11-20T10:20:35Z", "2026-11-20"},
      {"k8s-short-name", "a-1", "a.b"},
      {"k8s-short-name", "a", "A"},
      {"k8s-long-name", "a-1.b", "a..b"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(matches_format(c.format, c.good)) << c.format << " " << c.good;
    EXPECT_FALSE(matches_format(c.format, c.bad)) << c.format << " " << c.bad;
  }
  EXPECT_TRUE(matches_format("password", "anything"));
  EXPECT_TRUE(matches_format("my-own", "anything"));
  EXPECT_FALSE(matches_format("k8s-short-name", std::string(64, 'a')));
  EXPECT_FALSE(matches_format("k8s-long-name", std::string(254, 'a')));
  EXPECT_FALSE(matches_format("hex-color", "#ggg"));  // dashes do not count
  EXPECT_TRUE(is_known_format("password"));
  EXPECT_TRUE(is_known_format("date-time"));
  EXPECT_FALSE(is_known_format("my-own"));
}

}  // namespace
}  // namespace athanor::validate_test
