// SPDX-License-Identifier: Apache-2.0
// Compiled definitions that several servers share.
#include "embedded/apiserver/crd/crd_schemas.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cel/rules/schema_rules.hpp"
#include "embedded/apiserver/crd/crd_resources.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver::crd_schemas_test {
namespace {

Value parsed(const std::string& text) {
  return json::parse(text).value();
}

Value versions_with(const std::string& schema) {
  return parsed(R"([{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)" +
                schema + "}}]");
}

Value versions(const std::string& field = "size") {
  return versions_with(R"({"type":"object","properties":{"spec":{"type":"object","properties":{")" +
                       field +
                       R"(":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.)" +
                       field + R"( < 3"}]}}})");
}

Value definition() {
  Value crd = parsed(
      R"({"metadata":{"name":"widgets.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",
          "names":{"plural":"widgets","kind":"Widget"}}})");
  crd.set_path({"spec", "versions"}, versions());
  return crd;
}

TEST(CrdSchemas, OneContentCompilesOnce) {
  CrdSchemaCache cache;
  const CrdSchemas::Ptr first = cache.get(versions());
  EXPECT_EQ(cache.get(versions()), first);
  EXPECT_NE(cache.get(versions("other")), first);
  EXPECT_EQ(cache.get(versions()), first);
}

TEST(CrdSchemas, TheOrderOfMembersIsContent) {
  CrdSchemaCache cache;
  const auto one = cache.get(versions_with(
      R"({"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"string","default":"y"}}})"));
  const auto other = cache.get(versions_with(
      R"({"type":"object","properties":{"b":{"type":"string","default":"y"},"a":{"type":"string","default":"x"}}})"));
  EXPECT_NE(one, other);
}

TEST(CrdSchemas, TheKindOfANumberIsContent) {
  CrdSchemaCache cache;
  const std::string head = R"({"type":"object","properties":{"a":{"type":"number","default":)";
  EXPECT_NE(cache.get(versions_with(head + "1}}}")), cache.get(versions_with(head + "1.0}}}")));
}

TEST(CrdSchemas, KeepsTheLatestOnly) {
  CrdSchemaCache cache;
  const CrdSchemas::Ptr first = cache.get(versions("first"));
  const CrdSchemas::Ptr second = cache.get(versions("second"));
  for (std::size_t i = 2; i < CrdSchemaCache::kMost; ++i) {
    static_cast<void>(cache.get(versions("f" + std::to_string(i))));
  }
  EXPECT_EQ(cache.get(versions("first")), first);  // used again: younger than the second
  static_cast<void>(cache.get(versions("more")));
  EXPECT_EQ(cache.get(versions("first")), first);
  EXPECT_NE(cache.get(versions("second")), second);
}

TEST(CrdSchemas, UnreadableVersionsAreNotKept) {
  CrdSchemaCache cache;
  const CrdSchemas::Ptr broken = cache.get(versions_with(R"({"type":"nothing"})"));
  EXPECT_FALSE(broken->readable());
  EXPECT_FALSE(broken->errors().empty());
  EXPECT_TRUE(broken->versions().empty());
  EXPECT_NE(cache.get(versions_with(R"({"type":"nothing"})")), broken);
}

TEST(CrdSchemas, ErrorsOfRulesAreFoundEachTime) {
  CrdSchemaCache cache;
  const Value wrong = versions_with(
      R"({"type":"object","x-kubernetes-validations":[{"rule":"self.unknown == 1"}]})");
  for (int round = 0; round < 2; ++round) {
    const CrdSchemas::Ptr compiled = cache.get(wrong);
    EXPECT_TRUE(compiled->readable());
    ASSERT_EQ(compiled->errors().size(), 1U);
    EXPECT_EQ(compiled->errors()[0].field,
              "spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule");
  }
}

// What one server has found out about its objects is not another's.
TEST(CrdSchemas, BrokenRulesAreEachServersOwn) {
  CrdSchemaCache cache;
  const auto one = crd_resources(definition(), {.schema_revision = 5, .schemas = &cache});
  const auto other = crd_resources(definition(), {.schema_revision = 5, .schemas = &cache});
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(one[0]->schema, other[0]->schema);
  EXPECT_EQ(rules_of(*one[0]), rules_of(*other[0]));
  ASSERT_NE(rules_of(*one[0]), nullptr);
  note_broken_rules(*one[0]);
  EXPECT_FALSE(passed_rules(*one[0], 6));
  EXPECT_TRUE(passed_rules(*other[0], 6));
}

TEST(CrdSchemas, ResourcesOutliveTheCache) {
  std::vector<std::shared_ptr<const ResourceInfo>> resources;
  {
    CrdSchemaCache cache;
    resources = crd_resources(definition(), {.schemas = &cache});
  }
  ASSERT_EQ(resources.size(), 1U);
  const Value object = parsed(R"({"spec":{"size":7}})");
  EXPECT_EQ(rules_of(*resources[0])->judge(object, nullptr).errors.size(), 1U);
}

}  // namespace
}  // namespace athanor::apiserver::crd_schemas_test
