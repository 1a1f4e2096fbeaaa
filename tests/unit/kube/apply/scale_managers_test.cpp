// SPDX-License-Identifier: Apache-2.0
// Owners of replicas through the Scale and back: what kube-apiserver 1.35 leaves in managedFields.
#include "kube/apply/scale_managers.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::scale_managers_test {
namespace {

Value parse(std::string_view text) {
  return *json::parse(text);
}

std::optional<std::vector<std::string>> path(std::string_view version) {
  if (version == "apps/v1") {
    return std::vector<std::string>{"spec", "replicas"};
  }
  return std::nullopt;
}

constexpr std::string_view kUpdated =
    R"([{"manager":"u","operation":"Update","apiVersion":"apps/v1","time":"2026-11-20T10:00:00Z",)"
    R"("fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}}])";
constexpr std::string_view kApplied =
    R"([{"manager":"a","operation":"Apply","apiVersion":"apps/v1","time":"2026-11-20T10:00:00Z",)"
    R"("fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}}])";

TEST(ScaleManagers, OwnTheReplicasAlone) {
  const Value entries = scale_entries(parse(kUpdated), path);
  ASSERT_EQ(entries.size(), 1U) << json::print(entries);
  EXPECT_EQ(entries[0]["apiVersion"].as_string(), "autoscaling/v1");
  EXPECT_EQ(entries[0]["manager"].as_string(), "u");
  EXPECT_EQ(entries[0]["fieldsV1"], parse(R"({"f:spec":{"f:replicas":{}}})"));
}

TEST(ScaleManagers, IgnoreOwnersOfOtherFields) {
  Value others = parse(kUpdated);
  others.item(0).set("fieldsV1", parse(R"({"f:spec":{"f:paused":{}}})"));
  EXPECT_TRUE(scale_entries(others, path).is_null());
}

TEST(ScaleManagers, AnUpdatersEntryIsSplit) {
  const Value before = parse(kUpdated);
  const Value after = parent_entries(before, scale_entries(before, path), "apps/v1", path);
  ASSERT_EQ(after.size(), 2U) << json::print(after);
  EXPECT_FALSE(after[0].contains("time"));
  EXPECT_EQ(after[0]["apiVersion"].as_string(), "apps/v1");
  EXPECT_EQ(after[0]["fieldsV1"], parse(R"({"f:spec":{"f:replicas":{}}})"));
  EXPECT_EQ(after[1]["fieldsV1"], parse(R"({"f:spec":{"f:paused":{}}})"));
}

TEST(ScaleManagers, OfTwoHalvesTheLaterCounts) {
  const Value before = parse(kUpdated);
  const Value split = parent_entries(before, scale_entries(before, path), "apps/v1", path);
  EXPECT_TRUE(scale_entries(split, path).is_null());
}

TEST(ScaleManagers, AnAppliersEntryStays) {
  const Value before = parse(kApplied);
  EXPECT_EQ(parent_entries(before, scale_entries(before, path), "apps/v1", path), before);
}

TEST(ScaleManagers, FormerOwnersOfReplicasKeepTheRest) {
  const Value after = parent_entries(parse(kApplied), Value(), "apps/v1", path);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0]["fieldsV1"], parse(R"({"f:spec":{"f:paused":{}}})"));
}

TEST(ScaleManagers, UnknownVersionsGo) {
  Value before = parse(kApplied);
  before.item(0).set("apiVersion", "apps/v0");
  EXPECT_TRUE(parent_entries(before, Value(), "apps/v1", path).is_null());
}

}  // namespace
}  // namespace athanor::scale_managers_test
