// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/member_edit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "kube/text/json.hpp"
#include "kube/value/value_hash.hpp"

namespace athanor::member_edit_test {
namespace {

Value numbered(int size) {
  std::vector<Member> members;
  for (int i = 0; i < size; ++i) {
    members.emplace_back(fmt::format("a long name {}", i), i);
  }
  return Value::object(std::move(members));
}

// With and without a table, the same comes out.
TEST(MemberEdit, MatchesEditsOfValues) {
  std::mt19937 random(3);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  for (const int size : {0, 3, 64, 65, 500}) {
    Value plain = numbered(size);
    MemberEdit edit(plain);
    for (int i = 0; i < 400; ++i) {
      const std::string key = fmt::format("a long name {}", random() % 600);
      if (random() % 3 == 0) {
        EXPECT_EQ(edit.erase(key), plain.erase(key));
      } else {
        edit.set(key, i);
        plain.set(key, i);
      }
      const Value* found = edit.find(key);
      EXPECT_EQ(found == nullptr ? Value() : *found, plain[key]);
    }
    EXPECT_EQ(json::print(edit.take()), json::print(plain)) << size;
  }
}

TEST(MemberEdit, SharesObjectThatWasOnlyRead) {
  const Value object = numbered(100);
  MemberEdit edit(object);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(edit.find(fmt::format("a long name {}", i)), nullptr);
  }
  EXPECT_TRUE(edit.take().identical(object));
}

TEST(ValueHash, EqualValuesHaveOneHash) {
  const auto read = [](std::string_view text) { return *json::parse(text); };
  EXPECT_EQ(hash_of(read(R"({"a":1,"b":[2,{"c":null}]})")),
            hash_of(read(R"({"b":[2.0,{"c":null}],"a":1.0})")));
  EXPECT_NE(hash_of(read("[1,2]")), hash_of(read("[2,1]")));
  EXPECT_NE(hash_of(Value("1")), hash_of(Value(1)));
  const auto large = std::numeric_limits<std::uint64_t>::max() / 2 + 1;
  EXPECT_EQ(Value(large), Value(static_cast<double>(large)));
  EXPECT_EQ(hash_of(Value(large)), hash_of(Value(static_cast<double>(large))));
  EXPECT_EQ(hash_of(Value(0.0)), hash_of(Value(-0.0)));
}

}  // namespace
}  // namespace athanor::member_edit_test
