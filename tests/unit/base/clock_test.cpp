// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"

namespace athanor::clock_test {
namespace {

TEST(Entropy, ASeedReplaysItsSequence) {
  const auto first = seeded_entropy(7);
  const auto second = seeded_entropy(7);
  const auto other = seeded_entropy(8);
  const std::string uuid = first->uuid();
  EXPECT_EQ(uuid, second->uuid());
  EXPECT_NE(uuid, other->uuid());
  EXPECT_EQ(first->name_suffix(), second->name_suffix());
}

TEST(Entropy, MakesVersion4Uuids) {
  const auto entropy = system_entropy();
  for (int i = 0; i < 50; ++i) {
    const std::string uuid = entropy->uuid();
    ASSERT_EQ(uuid.size(), 36U);
    EXPECT_EQ(uuid[8], '-');
    EXPECT_EQ(uuid[13], '-');
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos);
  }
  EXPECT_NE(entropy->uuid(), entropy->uuid());
}

TEST(Entropy, OrdersUuidsByTime) {
  const auto entropy = system_entropy();
  Instant now = *parse_time("2026-11-29T10:00:00Z");
  std::string before;
  for (const std::int64_t micros :
       std::initializer_list<std::int64_t>{0, 1, 999, 1, 255, 1'000'000, 86'400'000'000}) {
    now += Duration(micros);
    const std::string uuid = entropy->uuid_at(now);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
    if (micros > 0) {
      EXPECT_LT(before, uuid);
    }
    EXPECT_NE(uuid, entropy->uuid_at(now));
    before = uuid;
  }
}

TEST(Entropy, SuffixesUseTheNameAlphabet) {
  const auto entropy = seeded_entropy(1);
  for (int i = 0; i < 50; ++i) {
    const std::string suffix = entropy->name_suffix();
    EXPECT_EQ(suffix.size(), 5U);
    EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  }
}

TEST(Clock, WallClockIsPast2020) {
  EXPECT_GT(wall_clock()->now(), *parse_time("2020-01-01T00:00:00Z"));
}

TEST(CheckDeathTest, ABrokenInvariantEndsTheProgram) {
  EXPECT_DEATH(ATHANOR_CHECK(1 == 2, "numbers differ"), "broken invariant at .*: numbers differ");
}

}  // namespace
}  // namespace athanor::clock_test
