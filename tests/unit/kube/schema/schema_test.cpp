// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/schema.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/schema/types.hpp"

namespace athanor::schema_test {
namespace {

SchemaField named(const std::string& name) {
  SchemaField field;
  field.name = name;
  return field;
}

TEST(Schema, FindsEachOfManyFieldsAndNoOther) {
  Schema schema;
  for (int i = 0; i < 1000; ++i) {
    schema.fields.push_back(named("field" + std::to_string(i)));
  }
  schema.index_fields();
  for (const SchemaField& field : schema.fields) {
    EXPECT_EQ(schema.field(field.name), &field);
  }
  EXPECT_EQ(schema.field("field1000"), nullptr);
  EXPECT_EQ(schema.field(""), nullptr);
}

TEST(Schema, TakesFirstOfFieldsWithOneName) {
  Schema schema;
  schema.fields = {named(""), named("a"), named("a")};
  schema.index_fields();
  EXPECT_EQ(schema.field(""), &schema.fields[0]);
  EXPECT_EQ(schema.field("a"), &schema.fields[1]);
}

TEST(Schema, OfNoFieldsFindsNothing) {
  Schema schema;
  schema.index_fields();
  EXPECT_EQ(schema.field("metadata"), nullptr);
}

TEST(Schema, FindsEveryFieldOfBuiltInTypes) {
  for (const char* type : {"core.v1.PodSpec", "core.v1.Container", "meta.ObjectMeta"}) {
    const SchemaPtr schema = BuiltinTypes::get().by_name(type);
    ASSERT_NE(schema, nullptr) << type;
    for (const SchemaField& field : schema->fields) {
      EXPECT_EQ(schema->field(field.name), &field) << type << "." << field.name;
    }
  }
}

}  // namespace
}  // namespace athanor::schema_test
