// SPDX-License-Identifier: Apache-2.0
// The quota arithmetic of docs/spec/kueue.md 7.6 in numbers.
#include "embedded/kueue/cycle/quota_tree.hpp"

#include <gtest/gtest.h>

namespace athanor::kueue::quota_tree_test {
namespace {

const FlavorResource kGpu{"f", "gpu"};

TEST(QuotaTree, AQueueWithoutCohortHasItsNominalQuota) {
  QuotaTree tree;
  const auto queue = tree.add_node(std::nullopt);
  tree.set_limits(queue, kGpu, {.nominal = 8});
  tree.finish();
  tree.add_usage(queue, kGpu, 5);
  EXPECT_EQ(tree.available(queue, kGpu), 3);
  EXPECT_EQ(tree.max_capacity(queue, kGpu), 8);
}

TEST(QuotaTree, ReturnsNegativeAvailableAfterQuotaCut) {
  QuotaTree tree;
  const auto queue = tree.add_node(std::nullopt);
  tree.set_limits(queue, kGpu, {.nominal = 2});
  tree.finish();
  tree.add_usage(queue, kGpu, 5);
  EXPECT_EQ(tree.available(queue, kGpu), -3);
}

struct Pair {
  QuotaTree tree{};
  QuotaTree::NodeId cohort = 0, first = 0, second = 0;
  Pair(const Limits& a, const Limits& b) {
    cohort = tree.add_node(std::nullopt);
    first = tree.add_node(cohort);
    second = tree.add_node(cohort);
    tree.set_limits(first, kGpu, a);
    tree.set_limits(second, kGpu, b);
    tree.finish();
  }
};

TEST(QuotaTree, CohortLendsUnusedQuotaOfItsQueues) {
  Pair pair({.nominal = 8}, {.nominal = 8});
  EXPECT_EQ(pair.tree.max_capacity(pair.first, kGpu), 16);
  pair.tree.add_usage(pair.first, kGpu, 12);
  EXPECT_EQ(pair.tree.borrowed(pair.first, kGpu), 4);
  EXPECT_EQ(pair.tree.available(pair.second, kGpu), 4);
}

TEST(QuotaTree, ABorrowingLimitCapsTheBorrower) {
  Pair pair({.nominal = 8, .borrowing = 2}, {.nominal = 8});
  EXPECT_EQ(pair.tree.max_capacity(pair.first, kGpu), 10);
  EXPECT_EQ(pair.tree.available(pair.first, kGpu), 10);
}

TEST(QuotaTree, ALendingLimitKeepsTheRestAtHome) {
  Pair pair({.nominal = 8}, {.nominal = 8, .lending = 2});
  EXPECT_EQ(pair.tree.max_capacity(pair.first, kGpu), 10);
  pair.tree.add_usage(pair.first, kGpu, 10);
  EXPECT_EQ(pair.tree.available(pair.second, kGpu), 6);
}

TEST(QuotaTree, CountsLevelsUpToRemainderAsBorrowHeight) {
  Pair pair({.nominal = 8}, {.nominal = 8});
  EXPECT_EQ(pair.tree.borrow_height(pair.first, kGpu, 8), 0);
  EXPECT_EQ(pair.tree.borrow_height(pair.first, kGpu, 9), 1);
}

TEST(QuotaTree, GivingBackUndoesTaking) {
  Pair pair({.nominal = 8, .lending = 3}, {.nominal = 8});
  pair.tree.add_usage(pair.first, kGpu, 13);
  pair.tree.add_usage(pair.first, kGpu, -13);
  EXPECT_EQ(pair.tree.usage(pair.cohort, kGpu), 0);
  EXPECT_EQ(pair.tree.available(pair.second, kGpu), 11);
}

TEST(QuotaTree, ACopyHasAUseOfItsOwn) {
  QuotaTree tree;
  const auto queue = tree.add_node(std::nullopt);
  const auto cell = tree.set_limits(queue, kGpu, {.nominal = 8});
  tree.finish();
  QuotaTree copy = tree;
  copy.add_usage(queue, cell, 5);
  EXPECT_EQ(copy.available(queue, kGpu), 3);
  EXPECT_EQ(tree.available(queue, kGpu), 8);
  EXPECT_EQ(tree.find("f", "gpu"), cell);
}

TEST(QuotaTree, CountsUsageOfResourcesWithoutQuota) {
  Pair pair({.nominal = 8}, {.nominal = 8});
  const FlavorResource gone{"gone", "gpu"};
  EXPECT_EQ(pair.tree.find("gone", "gpu"), std::nullopt);
  pair.tree.add_usage(pair.first, gone, 3);
  EXPECT_EQ(pair.tree.usage(pair.first, gone), 3);
  EXPECT_EQ(pair.tree.usage(pair.cohort, gone), 3);
  EXPECT_EQ(pair.tree.available(pair.second, gone), -3);
  EXPECT_EQ(pair.tree.max_capacity(pair.first, gone), 0);
  EXPECT_EQ(pair.tree.borrowed(pair.first, gone), 3);
}

}  // namespace
}  // namespace athanor::kueue::quota_tree_test
