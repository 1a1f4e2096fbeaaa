// SPDX-License-Identifier: Apache-2.0
#include "kube/value/condition.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::condition_test {
namespace {

const Instant kFirst = *parse_time("2026-11-20T10:00:00Z");
const Instant kLater = *parse_time("2026-11-20T11:00:00Z");

TEST(Condition, IsAppendedWithItsTime) {
  Value conditions;
  set_condition(conditions,
                {.type = "Ready", .status = "False", .reason = "Wait", .observed_generation = 2},
                kFirst);
  EXPECT_EQ(
      json::print(conditions),
      R"([{"type":"Ready","status":"False","observedGeneration":2,"lastTransitionTime":"2026-11-20T10:00:00Z","reason":"Wait"}])");
  EXPECT_TRUE(condition_is(conditions, "Ready", "False"));
  EXPECT_FALSE(condition_is(conditions, "Ready", "True"));
  EXPECT_FALSE(condition_is(conditions, "Other", ""));
  EXPECT_TRUE(find_condition(conditions, "Other").is_null());
}

TEST(Condition, KeepsItsTimeWhileTheStatusStays) {
  Value conditions;
  set_condition(conditions, {.type = "Ready", .status = "True", .reason = "A", .message = "m"},
                kFirst);
  set_condition(conditions, {.type = "Ready", .status = "True", .reason = "B"}, kLater);
  EXPECT_EQ(find_condition(conditions, "Ready")["lastTransitionTime"].as_string(),
            "2026-11-20T10:00:00Z");
  EXPECT_EQ(find_condition(conditions, "Ready")["reason"].as_string(), "B");
  EXPECT_FALSE(find_condition(conditions, "Ready").contains("message"));
  set_condition(conditions, {.type = "Ready", .status = "False", .reason = "C"}, kLater);
  EXPECT_EQ(find_condition(conditions, "Ready")["lastTransitionTime"].as_string(),
            "2026-11-20T11:00:00Z");
}

TEST(Condition, KeepsUnknownFieldsAndItsPlace) {
  Value conditions =
      *json::parse(R"([{"type":"A","status":"True","extra":1},{"type":"B","status":"True"}])");
  set_condition(conditions, {.type = "A", .status = "False"}, kFirst);
  EXPECT_EQ(conditions[0]["type"].as_string(), "A");
  EXPECT_EQ(conditions[0]["extra"].as_int(), 1);
  set_condition(conditions, {.type = "A", .status = "True"}, kLater, ConditionOrder::MoveToEnd);
  EXPECT_EQ(conditions[1]["type"].as_string(), "A");
  EXPECT_EQ(conditions.size(), 2U);
}

}  // namespace
}  // namespace athanor::condition_test
