// SPDX-License-Identifier: Apache-2.0
#include "kube/value/object.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::object_test {
namespace {

Object read(std::string_view text) {
  const auto value = json::parse(text);
  EXPECT_TRUE(value.ok());
  return Object(value.value_or(Value()));
}

TEST(Object, ReadsMetadata) {
  const Object object =
      read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n",
    "uid":"u1","resourceVersion":"12","generation":3,"labels":{"app":"web"},"annotations":{"k":"v"},
    "creationTimestamp":"2026-11-20T10:20:35Z","finalizers":["a/b"],
    "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"u2"},
      {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u3","controller":true,"blockOwnerDeletion":true}]}})");
  EXPECT_EQ(object.key().text(), "n/p");
  EXPECT_EQ(object.uid(), "u1");
  EXPECT_EQ(object.resource_version(), "12");
  EXPECT_EQ(object.generation(), 3);
  EXPECT_EQ(object.label("app"), "web");
  EXPECT_EQ(object.annotation("k"), "v");
  EXPECT_EQ(object.creation_time(), parse_time("2026-11-20T10:20:35Z"));
  EXPECT_FALSE(object.deletion_time().has_value());
  EXPECT_FALSE(object.deleting());
  EXPECT_TRUE(object.has_finalizer("a/b"));
  EXPECT_FALSE(object.has_finalizer("a"));
  EXPECT_TRUE(object.owned_by("u2"));
  EXPECT_FALSE(object.owned_by("u1"));
  ASSERT_EQ(object.owners().size(), 2U);
  ASSERT_TRUE(object.controller().has_value());
  EXPECT_EQ(object.controller()->uid, "u3");
  EXPECT_EQ(
      json::print(object.controller()->to_value()),
      R"({"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u3","controller":true,"blockOwnerDeletion":true})");
}

TEST(Object, AnEmptyObjectAnswersWithNothing) {
  const Object object;
  EXPECT_EQ(object.key().text(), "");
  EXPECT_FALSE(object.owned_by(""));
  EXPECT_FALSE(object.has_finalizer(""));
  EXPECT_FALSE(object.controller().has_value());
  EXPECT_FALSE(object.creation_time().has_value());
}

TEST(Kind, PrintsApiVersions) {
  EXPECT_EQ((Kind{.group = "", .version = "v1", .name = "Pod", .plural = "pods"}).api_version(),
            "v1");
  EXPECT_EQ(
      (Kind{.group = "batch", .version = "v1", .name = "Job", .plural = "jobs"}).api_version(),
      "batch/v1");
}

}  // namespace
}  // namespace athanor::object_test
