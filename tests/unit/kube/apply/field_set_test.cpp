// SPDX-License-Identifier: Apache-2.0
// FieldSet: fieldsV1, set operations, path texts.
#include "kube/apply/field_set.hpp"

#include "unit/kube/apply_fixture.hpp"

namespace athanor::field_set_test {
namespace {

using test::json;
using test::same_json;

FieldSet set_of(std::string_view fields) {
  Result<FieldSet> set = FieldSet::from_fields_v1(json(fields));
  EXPECT_TRUE(set.ok());
  return set.value_or(FieldSet());
}

constexpr std::string_view kService = R"({
  "f:metadata":{"f:labels":{".":{},"f:a/b":{}}},
  "f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}},
                       "k:{\"port\":443,\"protocol\":\"TCP\"}":{}},
            "f:finalizers":{"v:\"x\"":{},"i:0":{}}}})";

TEST(FieldSet, ReadsAndPrintsFieldsV1) {
  const FieldSet set = set_of(kService);
  EXPECT_EQ(set.count(), 7U);
  EXPECT_TRUE(same_json(set.to_fields_v1(), kService));
  EXPECT_EQ(FieldSet::from_fields_v1(set.to_fields_v1()).value_or({}), set);
}

TEST(FieldSet, ShowsPathsInOrder) {
  const std::vector<std::string> expected{".metadata.labels",
                                          ".metadata.labels.a/b",
                                          ".spec.finalizers[=\"x\"]",
                                          ".spec.finalizers[0]",
                                          ".spec.ports[port=80,protocol=\"TCP\"]",
                                          ".spec.ports[port=443,protocol=\"TCP\"]",
                                          ".spec.ports[port=80,protocol=\"TCP\"].name"};
  EXPECT_EQ(set_of(kService).paths(), expected);
}

TEST(FieldSet, BringsKeysIntoCanonicalSpelling) {
  const FieldSet set = set_of(R"({"f:p":{"k:{\"protocol\":\"TCP\", \"port\": 80}":{"f:n":{}}}})");
  EXPECT_TRUE(same_json(set.to_fields_v1(),
                        R"({"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:n":{}}}})"));
}

TEST(FieldSet, DropsUnknownPrefixesAndRefusesBrokenElements) {
  EXPECT_TRUE(same_json(set_of(R"({"z:new":{},"f:a":{}})").to_fields_v1(), R"({"f:a":{}})"));
  for (const char* broken : {R"({"k:{":{}})", R"({"k:3":{}})", R"({"v:nope":{}})", R"({"i:x":{}})",
                             R"([])", R"({"f:a":"text"})"}) {
    EXPECT_FALSE(FieldSet::from_fields_v1(json(broken)).ok()) << broken;
  }
}

TEST(FieldSet, OrdersNumbersInKeysBySize) {
  using path_element::compare;
  EXPECT_EQ(compare(R"(k:{"port":80})", R"(k:{"port":443})"), -1);
  EXPECT_EQ(compare(R"(k:{"port":-80})", R"(k:{"port":-443})"), 1);
  EXPECT_EQ(compare(R"(k:{"name":"80"})", R"(k:{"name":"443"})"), 1);
  EXPECT_EQ(compare("f:b", "f:a"), 1);
  EXPECT_EQ(compare("f:z", R"(k:{"a":1})"), -1);
  EXPECT_EQ(compare("v:1", "i:0"), -1);
  EXPECT_EQ(compare("f:a", "f:a"), 0);
}

struct Operation {
  const char* a = nullptr;
  const char* b = nullptr;
  const char* united = nullptr;
  const char* intersected = nullptr;
  const char* minus = nullptr;
};

TEST(FieldSet, SetOperations) {
  const Operation table[] = {
      {R"({"f:a":{}})", R"({"f:b":{}})", R"({"f:a":{},"f:b":{}})", "{}", R"({"f:a":{}})"},
      {R"({"f:a":{}})", R"({"f:a":{}})", R"({"f:a":{}})", R"({"f:a":{}})", "{}"},
      {R"({"f:a":{".":{},"f:b":{}}})", R"({"f:a":{}})", R"({"f:a":{".":{},"f:b":{}}})",
       R"({"f:a":{}})", R"({"f:a":{"f:b":{}}})"},
      {R"({"f:a":{".":{},"f:b":{}}})", R"({"f:a":{"f:b":{}}})", R"({"f:a":{".":{},"f:b":{}}})",
       R"({"f:a":{"f:b":{}}})", R"({"f:a":{}})"},
      {R"({"f:a":{"f:b":{},"f:c":{}},"f:d":{}})", R"({"f:a":{"f:c":{},"f:e":{}}})",
       R"({"f:a":{"f:b":{},"f:c":{},"f:e":{}},"f:d":{}})", R"({"f:a":{"f:c":{}}})",
       R"({"f:a":{"f:b":{}},"f:d":{}})"},
      {"{}", R"({"f:a":{}})", R"({"f:a":{}})", "{}", "{}"},
  };
  for (const Operation& row : table) {
    const FieldSet a = set_of(row.a);
    const FieldSet b = set_of(row.b);
    EXPECT_TRUE(same_json(a.united(b).to_fields_v1(), row.united));
    EXPECT_TRUE(same_json(a.intersected(b).to_fields_v1(), row.intersected));
    EXPECT_TRUE(same_json(a.minus(b).to_fields_v1(), row.minus));
    // The operations on JSON agree.
    EXPECT_TRUE(same_json(fields_v1::plus(json(row.a), b), row.united));
    EXPECT_EQ(fields_v1::intersection(json(row.a), b), a.intersected(b));
    const Value rest = fields_v1::minus(json(row.a), b);
    EXPECT_TRUE(same_json(rest.is_null() ? Value::object() : rest, row.minus));
  }
}

TEST(FieldSet, MinusSubtreesTakesEverythingBelow) {
  const FieldSet set = set_of(R"({"f:spec":{"f:a":{}},"f:status":{".":{},"f:x":{"f:y":{}}}})");
  EXPECT_TRUE(same_json(set.minus_subtrees(set_of(R"({"f:status":{}})")).to_fields_v1(),
                        R"({"f:spec":{"f:a":{}}})"));
}

TEST(FieldSet, JsonOperationsKeepUntouchedNodes) {
  const Value fields = json(kService);
  EXPECT_TRUE(fields_v1::minus(fields, set_of(R"({"f:data":{"f:x":{}}})")).identical(fields));
  EXPECT_TRUE(fields_v1::plus(fields, set_of(R"({"f:metadata":{"f:labels":{"f:a/b":{}}}})"))
                  .identical(fields));
}

TEST(FieldSet, JsonPlusInsertsInOrder) {
  const Value more = fields_v1::plus(json(R"({"f:a":{},"f:c":{"f:y":{}}})"),
                                     set_of(R"({"f:b":{},"f:c":{".":{},"f:x":{}}})"));
  EXPECT_EQ(athanor::json::print(more), R"({"f:a":{},"f:b":{},"f:c":{".":{},"f:x":{},"f:y":{}}})");
}

TEST(FieldSet, FindsPaths) {
  const FieldSet set = set_of(R"({"f:a":{"f:b":{}}})");
  EXPECT_TRUE(set.has(std::vector<Value>{"f:a", "f:b"}));
  EXPECT_FALSE(set.has(std::vector<Value>{"f:a"}));
  EXPECT_FALSE(set.has(std::vector<Value>{"f:b"}));
  FieldSet made;
  made.insert(std::vector<Value>{path_element::field("a"), path_element::field("b")});
  EXPECT_EQ(made, set);
}

}  // namespace
}  // namespace athanor::field_set_test
