// SPDX-License-Identifier: Apache-2.0
// Waiting for own writes to come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/engine/model/barrier.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime::barrier_test {
namespace {

using api::kConfigMap;
using api::kNode;
using api::kPod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Barrier, OpensWhenEverythingAwaitedHasCome) {
  Barrier barrier;
  barrier.wait_version(1, {&kPod}, 10);
  barrier.wait_version(1, {&kPod}, 12);
  barrier.wait_change(1, {&kConfigMap, {"a", "m"}}, 7);
  barrier.wait_version(2, {&kPod}, 11);
  EXPECT_THAT(barrier.passed({&kPod}, 11), ElementsAre(2));
  EXPECT_THAT(barrier.passed({&kPod}, 12), IsEmpty());
  EXPECT_THAT(barrier.changed({&kConfigMap, {"a", "m"}}, 7), IsEmpty()) << "seen before";
  EXPECT_THAT(barrier.changed({&kConfigMap, {"a", "m"}}, 8), ElementsAre(1));
  EXPECT_FALSE(barrier.waits(1));
}

TEST(Barrier, OpensForObjectsOfAListedWatchAlone) {
  Barrier barrier;
  barrier.wait_change(1, {&kPod, {"a", "p"}}, 7);
  barrier.wait_change(2, {&kPod, {"b", "p"}}, 7);
  barrier.wait_change(3, {&kConfigMap, {"a", "p"}}, 7);
  EXPECT_THAT(barrier.listed({&kPod, "a"}), ElementsAre(1));
  EXPECT_THAT(barrier.listed({&kPod}), ElementsAre(2));
  EXPECT_TRUE(barrier.waits(3));
}

TEST(Barrier, DroppedWaitsNeverOpen) {
  Barrier barrier;
  barrier.wait_version(1, {&kPod}, 10);
  barrier.wait_relist(1, {&kNode});
  EXPECT_EQ(barrier.watches(1).size(), 2U);
  barrier.drop(1);
  EXPECT_THAT(barrier.passed({&kPod}, 99), IsEmpty());
  EXPECT_THAT(barrier.relisted({&kNode}), IsEmpty());
}

}  // namespace
}  // namespace athanor::runtime::barrier_test
