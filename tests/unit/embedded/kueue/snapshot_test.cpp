// SPDX-License-Identifier: Apache-2.0
// Which changes of queues, cohorts, flavors and checks make a difference to those who read them.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::kueue::snapshot_test {
namespace {

Object made(const char* yaml) {
  return Object(yaml::parse(yaml).value());
}

TEST(Snapshot, AChangeOfStatusMakesTheSame) {
  const Object queue = made("{metadata: {name: q}, spec: {cohortName: c}}");
  const Object counted =
      made("{metadata: {name: q}, spec: {cohortName: c}, status: {pendingWorkloads: 3}}");
  const Object moved = made("{metadata: {name: q}, spec: {cohortName: d}}");
  const Object strict =
      made("{metadata: {name: q, annotations: {athanor.dev/max-wait: 1m}}, spec: {cohortName: c}}");
  const Object going = made(
      "{metadata: {name: q, deletionTimestamp: '2026-01-05T00:00:00Z'}, spec: {cohortName: c}}");
  const Kind& kind = api::kueue::kClusterQueue;
  EXPECT_TRUE(makes_same_snapshot(kind, queue, counted));
  EXPECT_FALSE(makes_same_snapshot(kind, queue, moved));
  EXPECT_FALSE(makes_same_snapshot(kind, queue, strict));
  EXPECT_FALSE(makes_same_snapshot(kind, queue, going));
  EXPECT_FALSE(scheduler_operator().overlooks(api::kueue::kLocalQueue, queue, strict))
      << "a longer wait lets others pass";
}

TEST(Snapshot, OfACheckOnlyActiveCounts) {
  const Object active =
      made("{metadata: {name: c}, status: {conditions: [{type: Active, status: 'True'}]}}");
  const Object again = made(
      "{metadata: {name: c}, spec: {controllerName: x},"
      " status: {conditions: [{type: Active, status: 'True', reason: Again}]}}");
  const Object inactive = made("{metadata: {name: c}}");
  const Kind& kind = api::kueue::kAdmissionCheck;
  EXPECT_TRUE(makes_same_snapshot(kind, active, again));
  EXPECT_FALSE(makes_same_snapshot(kind, active, inactive));
}

}  // namespace
}  // namespace athanor::kueue::snapshot_test
