// SPDX-License-Identifier: Apache-2.0
#include "embedded/transport/ledger.hpp"

#include <gtest/gtest.h>

namespace athanor::transport::ledger_test {
namespace {

TEST(Ledger, BoundsEachHolderAndAllTogether) {
  Ledger ledger({.each = 100, .all = 150});
  Ledger::Share first(ledger);
  Ledger::Share second(ledger);
  EXPECT_TRUE(ledger.admits("a", 1000)) << "who holds nothing may hold one thing of any size";
  first.set("a", 80);
  EXPECT_TRUE(ledger.admits("a", 20));
  EXPECT_FALSE(ledger.admits("a", 21));
  second.set("b", 60);
  EXPECT_TRUE(ledger.admits("b", 10));
  EXPECT_FALSE(ledger.admits("b", 11)) << "all together hold 140";
  EXPECT_FALSE(ledger.exceeded("a"));
  first.set("a", 101);
  EXPECT_TRUE(ledger.exceeded("a"));
  EXPECT_TRUE(ledger.exceeded("b")) << "a large part of too much";
}

TEST(Ledger, SharesAddUpAndAreGivenBack) {
  Ledger ledger({.each = 100, .all = 100});
  {
    Ledger::Share first(ledger);
    Ledger::Share second(ledger);
    first.set("a", 10);
    second.set("a", 20);
    EXPECT_EQ(ledger.held("a"), 30U);
    second.set("b", 5);
    EXPECT_EQ(ledger.held("a"), 10U);
    EXPECT_EQ(ledger.held("b"), 5U);
    EXPECT_EQ(ledger.total(), 15U);
    first.set("a", 0);
    EXPECT_EQ(ledger.held("a"), 0U);
  }
  EXPECT_EQ(ledger.total(), 0U);
}

}  // namespace
}  // namespace athanor::transport::ledger_test
