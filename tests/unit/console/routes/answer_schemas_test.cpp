// SPDX-License-Identifier: Apache-2.0
// The notation of answers, and that each route of the JSON API has one. Real answers are compared
// with them by tests/e2e/console/test_console_schemas.py.
#include "console/routes/answer_schemas.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "console/routes/answer_notation.hpp"
#include "console/routes/route_table.hpp"
#include "kube/text/json.hpp"

namespace athanor::console::answer_schemas_test {
namespace {

TEST(AnswerNotation, BecomesJsonSchema) {
  EXPECT_EQ(json::print(schema_of("{a, b?: whole, c: [time~]}")),
            R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},)"
            R"("c":{"type":"array","items":{"type":"string","format":"date-time",)"
            R"("nullable":true}}},"required":["a","c"]})");
  EXPECT_EQ(json::print(schema_of("{? a!, b: flag}")["required"]), R"(["a"])");
  EXPECT_EQ(json::print(schema_of("<@X~>")),
            R"({"type":"object","additionalProperties":{"nullable":true,"allOf":[{"$ref":)"
            R"("#/components/schemas/X"}]}})");
  EXPECT_EQ(json::print(schema_of("any")), "{}");
  EXPECT_EQ(json::print(schema_of("{}")), R"({"type":"object","properties":{}})");
}

TEST(AnswerSchemas, DescribeEachJsonAnswer) {
  std::size_t described = 0;
  for (const Route& route : all_routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    const bool listed = route.shape != nullptr;
    const bool notation = !answer_notation(route.method, route.path).empty();
    described += notation ? 1 : 0;
    EXPECT_FALSE(listed && notation) << name << " has two descriptions";
    if (route.path.starts_with("/api/v1/") && route.content_type == "application/json") {
      EXPECT_TRUE(listed || notation) << name << " has none";
    }
  }
  EXPECT_EQ(described, answer_count()) << "an answer of no route";
}

// Collects the names that a schema refers to.
void add_references(const Value& schema, std::set<std::string>& names) {
  constexpr std::string_view kPlace = "#/components/schemas/";
  if (const std::string_view name = schema["$ref"].as_string(); !name.empty()) {
    names.emplace(name.substr(kPlace.size()));
  }
  for (const Member& member : schema.members()) {
    add_references(member.value, names);
  }
  for (const Value& item : schema.items()) {
    add_references(item, names);
  }
}

TEST(AnswerSchemas, ReferToSchemasOfTheDocument) {
  const Value document = openapi_document("1");
  std::set<std::string> names;
  add_references(document, names);
  EXPECT_GT(names.size(), 20U);
  for (const std::string& name : names) {
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << name;
  }
}

// A list is filtered and sorted by columns: each of them is a member of its rows.
TEST(AnswerSchemas, HaveTheColumnsOfLists) {
  const Value schemas = openapi_document("1")["components"]["schemas"];
  std::set<std::string_view> seen;
  for (const Route& route : all_routes()) {
    if (route.shape == nullptr || !seen.insert(route.shape().name).second) {
      continue;
    }
    const Value& members = schemas[route.shape().name]["properties"];
    for (const Column& column : route.shape().columns) {
      const std::string_view name = column.name.substr(0, column.name.find('.'));
      EXPECT_TRUE(members.contains(name)) << route.shape().name << " lacks " << column.name;
    }
  }
  EXPECT_EQ(seen.size(), 7U);
}

}  // namespace
}  // namespace athanor::console::answer_schemas_test
