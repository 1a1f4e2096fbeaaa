// SPDX-License-Identifier: Apache-2.0
#include "kube/value/member_lookup.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::member_lookup_test {
namespace {

Value numbered(int count) {
  Value object = Value::object();
  for (int i = 0; i < count; ++i) {
    object.set("k" + std::to_string(i), i);
  }
  return object;
}

TEST(MemberLookup, FindsInAnyOrder) {
  for (const int count : {0, 1, 10, 65, 1000}) {
    const Value object = numbered(count);
    MemberLookup forwards(object);
    MemberLookup backwards(object);
    MemberLookup with_misses(object);
    for (int i = 0; i < count; ++i) {
      const Value* found = forwards.find("k" + std::to_string(i));
      ASSERT_NE(found, nullptr) << i;
      EXPECT_EQ(*found, Value(i));
      const int last = count - 1 - i;
      ASSERT_NE(backwards.find("k" + std::to_string(last)), nullptr) << last;
      EXPECT_EQ(with_misses.find("m" + std::to_string(i)), nullptr);
      ASSERT_NE(with_misses.find("k" + std::to_string(i)), nullptr) << i;
    }
    EXPECT_EQ(forwards.find("k" + std::to_string(count)), nullptr);
  }
}

}  // namespace
}  // namespace athanor::member_lookup_test
