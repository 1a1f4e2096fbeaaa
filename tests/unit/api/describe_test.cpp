// SPDX-License-Identifier: Apache-2.0
// Described structs: reading, writing and the schema that follows from the field table.
#include "api/describe.hpp"

#include <gtest/gtest.h>

#include "api/describe_ops.hpp"
#include "kube/text/json.hpp"

namespace athanor::api {
namespace {

struct Part {
  std::string name{};
  std::int32_t count = 1;
};
struct Everything {
  std::string text{};
  bool flag = false;
  std::int64_t number = 7;
  double ratio = 0;
  Instant at{};
  std::optional<Quantity> amount{};
  Value anything{};
  Part part{};
  std::optional<Part> maybe{};
  std::vector<Part> parts{};
  std::vector<std::string> words{};
  std::map<std::string, std::string> labels{};
  std::optional<std::string> note{};
};

Value parse(std::string_view text) {
  return *json::parse(text);
}

}  // namespace
}  // namespace athanor::api

ATHANOR_DESCRIBED(athanor::api::Part);
ATHANOR_DESCRIBED(athanor::api::Everything);

namespace athanor::api {

const TypeInfo& Describe<Part>::type() {
  static const FieldInfo kFields[] = {
      field<&Part::name>("name", "", {.required = true}),
      field<&Part::count>("count", "How many.", {.default_json = "1", .minimum = 0}),
  };
  static const TypeInfo kType{.name = "Part", .doc = "A part.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Everything>::type() {
  static const FieldInfo kFields[] = {
      field<&Everything::text>("text", "", {.enum_values = "a|b", .max_length = 3}),
      field<&Everything::flag>("flag", ""),
      field<&Everything::number>("number", ""),
      field<&Everything::ratio>("ratio", ""),
      field<&Everything::at>("at", ""),
      field<&Everything::amount>("amount", ""),
      field<&Everything::anything>("anything", "", {.preserve_unknown = true}),
      field<&Everything::part>("part", ""),
      field<&Everything::maybe>("maybe", ""),
      field<&Everything::parts>("parts", "", {.list_type = "map", .list_keys = "name"}),
      field<&Everything::words>("words", "",
                                {.item_pattern = "^[a-z]+$", .item_json = R"({"maxLength": 9})"}),
      field<&Everything::labels>("labels", "", {.max_properties = 8}),
      field<&Everything::note>("note", ""),
      schema_field<std::string>("old", "Schema alone."),
  };
  static const TypeInfo kType{.name = "Everything", .fields = kFields};
  return kType;
}

namespace {

TEST(Describe, ReadsEveryShape) {
  const auto all = decode<Everything>(parse(R"({
    "text": "a", "flag": true, "number": 9, "ratio": 0.5, "at": "2026-05-04T10:00:07Z", "amount": "1500m",
    "anything": {"x": [1]}, "part": {"name": "p", "count": 3}, "maybe": {}, "parts": [{"name": "q"}],
    "words": ["u", "v"], "labels": {"k": "v"}, "note": "", "unknown": 1})"));
  EXPECT_EQ(all.text, "a");
  EXPECT_TRUE(all.flag);
  EXPECT_EQ(all.number, 9);
  EXPECT_DOUBLE_EQ(all.ratio, 0.5);
  EXPECT_EQ(format_time(all.at), "2026-05-04T10:00:07Z");
  EXPECT_EQ(all.amount->milli_value(), 1500);
  EXPECT_EQ(all.anything["x"][0].as_int(), 1);
  EXPECT_EQ(all.part.count, 3);
  ASSERT_TRUE(all.maybe);
  EXPECT_EQ(all.maybe->count, 1);
  ASSERT_EQ(all.parts.size(), 1U);
  EXPECT_EQ(all.parts[0].name, "q");
  EXPECT_EQ(all.words, (std::vector<std::string>{"u", "v"}));
  EXPECT_EQ(all.labels.at("k"), "v");
  EXPECT_EQ(all.note, "");
}

TEST(Describe, WrongTypesLeaveTheDefault) {
  const auto all = decode<Everything>(
      parse(R"({"text": 1, "number": "x", "part": 3, "parts": {}, "at": "soon"})"));
  EXPECT_EQ(all.text, "");
  EXPECT_EQ(all.number, 7);
  EXPECT_EQ(all.part.count, 1);
  EXPECT_TRUE(all.parts.empty());
  EXPECT_EQ(all.at, Instant());
}

TEST(Describe, WritesSetMembersAndKeepsPresentEmpties) {
  Everything all;
  all.note = "";
  all.maybe.emplace();
  all.words = {""};
  EXPECT_EQ(encode(all), parse(R"({"flag": false, "number": 7, "ratio": 0, "part": {"count": 1},
      "maybe": {"count": 1}, "words": [""], "note": ""})"));
}

TEST(Describe, RoundTrip) {
  const Value written = parse(R"({
    "text": "a", "flag": true, "number": 9, "ratio": 0.5, "at": "2026-05-04T10:00:07Z", "amount": "1500m",
    "anything": {"x": [1]}, "part": {"name": "p", "count": 3}, "maybe": {"count": 1}, "parts": [{"name": "q", "count": 0}],
    "words": ["u", "v"], "labels": {"k": "v"}, "note": ""})");
  EXPECT_EQ(encode(decode<Everything>(written)), written);
}

TEST(Schema, FollowsTheTable) {
  const Value schema = open_api_schema(Describe<Everything>::type());
  const Value& properties = schema["properties"];
  EXPECT_EQ(properties["metadata"], parse(R"({"type": "object"})"));
  EXPECT_EQ(properties["text"], parse(R"({"type": "string", "enum": ["a", "b"], "maxLength": 3})"));
  EXPECT_EQ(properties["at"], parse(R"({"type": "string", "format": "date-time"})"));
  EXPECT_EQ(properties["part"],
            parse(R"({"type": "object", "description": "A part.", "required": ["name"],
      "properties": {"name": {"type": "string"},
                     "count": {"type": "integer", "format": "int32", "default": 1, "minimum": 0, "description": "How many."}}})"));
  EXPECT_EQ(properties["parts"]["x-kubernetes-list-map-keys"], parse(R"(["name"])"));
  EXPECT_EQ(
      properties["words"],
      parse(
          R"({"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9}})"));
  EXPECT_EQ(
      properties["labels"],
      parse(
          R"({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 8})"));
  EXPECT_EQ(properties["anything"],
            parse(R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})"));
  EXPECT_TRUE(properties["amount"]["x-kubernetes-int-or-string"].as_bool());
  EXPECT_EQ(properties["old"], parse(R"({"type": "string", "description": "Schema alone."})"));
}

TEST(Crd, Manifest) {
  static const Kind kKind{"lab.example", "v1", "Thing", "things", false};
  static const PrinterColumn kColumns[] = {
      {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}};
  static const std::string_view kFields[] = {".text"};
  static const std::string_view kShort[] = {"th"};
  static const VersionInfo kVersions[] = {{.name = "v1beta1",
                                           .storage = false,
                                           .deprecation_warning = "old",
                                           .type = &Describe<Part>::type},
                                          {.name = "v1",
                                           .type = &Describe<Everything>::type,
                                           .status_subresource = false,
                                           .columns = kColumns,
                                           .selectable_fields = kFields}};
  const Value crd = crd_manifest(
      {.kind = &kKind, .singular = "thing", .short_names = kShort, .versions = kVersions});
  EXPECT_EQ(crd["metadata"]["name"], Value("things.lab.example"));
  EXPECT_EQ(crd["spec"]["scope"], Value("Cluster"));
  EXPECT_EQ(
      crd["spec"]["names"],
      parse(
          R"({"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing", "shortNames": ["th"]})"));
  const Value& old = crd["spec"]["versions"][0];
  EXPECT_TRUE(old["deprecated"].as_bool());
  EXPECT_EQ(old["deprecationWarning"], Value("old"));
  EXPECT_EQ(old["subresources"], parse(R"({"status": {}})"));
  const Value& current = crd["spec"]["versions"][1];
  EXPECT_FALSE(current.contains("subresources"));
  EXPECT_EQ(current["selectableFields"], parse(R"([{"jsonPath": ".text"}])"));
  EXPECT_EQ(
      current["additionalPrinterColumns"],
      parse(R"([{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}])"));
}

}  // namespace
}  // namespace athanor::api
