// SPDX-License-Identifier: Apache-2.0
// Schedules that are paused until a time (docs/spec/dashboard.md B4.10).
#include "systems/fournos/schedules/resume.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "api/builtin.hpp"
#include "unit/systems/fournos/lab.hpp"

namespace athanor::fournos::resume_test {
namespace {

const Key kSchedule{kNs, "nightly"};

class Resume : public Lab {
 protected:
  void put_schedule(const std::string& annotations, bool suspended, bool managed = true) {
    put("{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: bench, labels: "
        "{" +
        std::string(managed ? "fournos-launcher/managed-by: fournos-dashboard" : "") +
        "}, annotations: {" + annotations +
        "}}, spec: {schedule: '@daily', suspend: " + (suspended ? "true" : "false") + "}}");
  }
  Plan reconcile() { return world.reconcile(resume_operator(), kSchedule); }
  [[nodiscard]] Object schedule() { return world.must(api::kCronJob, kSchedule); }
};

TEST_F(Resume, WaitsForTheEndOfThePause) {
  world.now = *parse_time("2026-01-31T07:59:59Z");
  put_schedule("fournos-launcher/paused-until: '2026-01-31T08:00:00Z'", true);
  const Plan plan = reconcile();
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_EQ(plan.wake(), parse_time("2026-01-31T08:00:00Z"));
  world.settle_for({&resume_operator()}, std::chrono::seconds(10));
  EXPECT_FALSE(schedule().spec()["suspend"].as_bool());
  EXPECT_TRUE(schedule().annotation(kPausedUntil).empty());
  EXPECT_TRUE(reconcile().steps().empty()) << "once";
}

TEST_F(Resume, EndsPauseThatEndedWithoutController) {
  world.now = *parse_time("2026-02-28T08:00:00Z");
  put_schedule("fournos-launcher/paused-until: '2026-01-31T10:00:00+02:00', keep: me", true);
  EXPECT_TRUE(world.apply(reconcile()).ok());
  EXPECT_FALSE(schedule().spec()["suspend"].as_bool());
  EXPECT_EQ(schedule().annotation("keep"), "me");
}

TEST_F(Resume, KeepsPausesWithoutEnd) {
  put_schedule("", true);
  EXPECT_TRUE(reconcile().empty());
}

TEST_F(Resume, KeepsSchedulesOfOthers) {
  world.now = *parse_time("2026-02-28T08:00:00Z");
  put_schedule("fournos-launcher/paused-until: '2026-01-31T08:00:00Z'", true, false);
  EXPECT_TRUE(reconcile().empty());
}

TEST_F(Resume, ReportsEndThatIsNoTime) {
  put_schedule("fournos-launcher/paused-until: tomorrow", true);
  EXPECT_TRUE(world.apply(reconcile()).ok());
  EXPECT_TRUE(schedule().spec()["suspend"].as_bool());
  EXPECT_FALSE(schedule().annotation(kPausedUntil).empty());
}

TEST_F(Resume, ForgetsEndAfterManualResume) {
  put_schedule("fournos-launcher/paused-until: '2099-01-31T08:00:00Z'", false);
  EXPECT_TRUE(world.apply(reconcile()).ok());
  EXPECT_TRUE(schedule().annotation(kPausedUntil).empty());
  EXPECT_FALSE(schedule().spec()["suspend"].as_bool());
}

}  // namespace
}  // namespace athanor::fournos::resume_test
