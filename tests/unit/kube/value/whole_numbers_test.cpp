// SPDX-License-Identifier: Apache-2.0
// Numbers like 2.0, which are stored as integers.
#include "kube/value/whole_numbers.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::whole_numbers_test {
namespace {

Value from(std::string_view text) {
  return json::parse(text).value_or({});
}

TEST(WholeNumbers, BecomeIntegers) {
  const Value stored = whole_doubles_as_integers(from(R"({"a": 2.0, "b": [{"c": 3.0}, 1.5]})"));
  EXPECT_EQ(stored["a"].type(), Value::Type::Int);
  EXPECT_EQ(stored["b"][0]["c"].type(), Value::Type::Int);
  EXPECT_EQ(stored["b"][1].type(), Value::Type::Double);
}

TEST(WholeNumbers, ConvertsOnlyChangedParts) {
  const Value before = from(R"({"kept": {"x": 1}, "list": [1, 2], "gone": 1})");
  Value after = before;
  after.set("list", from("[1, 2.0]"));
  after.erase("gone");
  after.set("new", from(R"({"y": 4.0})"));
  const Value stored = whole_doubles_as_integers(after, before);
  EXPECT_EQ(stored["list"][1].type(), Value::Type::Int);
  EXPECT_EQ(stored["new"]["y"].type(), Value::Type::Int);
  EXPECT_TRUE(stored["kept"].identical(before["kept"]));
  EXPECT_TRUE(whole_doubles_as_integers(before, before).identical(before));
}

}  // namespace
}  // namespace athanor::whole_numbers_test
