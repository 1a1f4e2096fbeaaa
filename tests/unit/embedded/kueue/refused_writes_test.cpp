// SPDX-License-Identifier: Apache-2.0
// What a workload is told when the API server refuses the writes of its admission, or of the
// preemptions that it needs (docs/spec/kueue.md 7.7).
#include "runtime/view/step.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::refused_writes_test {
namespace {

class RefusedWrites : public QueueWorld {
 protected:
  // Refuses statuses of this workload that have the condition True.
  void refuse(const std::string& name, const std::string& condition) {
    world.fault = [=](const Step& step) -> std::optional<Error> {
      const auto* status = std::get_if<Status>(&step);
      const bool hit = status != nullptr && status->target.key.name == name &&
                       condition_is(status->status["conditions"], condition, "True");
      return hit ? std::optional(Error{.code = 403, .reason = "Forbidden", .message = "not today"})
                 : std::nullopt;
    };
  }
};

TEST_F(RefusedWrites, OfAnAdmissionAreReportedAndRetried) {
  queue("q", "8");
  refuse("a", "QuotaReserved");
  run("a", "q", 8);
  EXPECT_FALSE(admitted("a"));
  EXPECT_EQ(message("a"), "Failed to admit workload: not today");
  run("b", "q", 8);
  EXPECT_TRUE(admitted("b")) << "the quota is not kept for what cannot be written";
  remove("b");
  world.fault = nullptr;
  pass(std::chrono::seconds(11));
  EXPECT_TRUE(admitted("a"));
}

TEST_F(RefusedWrites, OfPreemptionsAreCounted) {
  queue("q", "8", ", preemption: {withinClusterQueue: LowerPriority}");
  run("one", "q", 4, 1);
  run("two", "q", 4, 1);
  refuse("one", "Evicted");
  run("high", "q", 8, 9);
  EXPECT_FALSE(evicted("one"));
  EXPECT_TRUE(evicted("two"));
  EXPECT_EQ(message("high"),
            "couldn't assign flavors to pod set launcher: insufficient unused quota for gpu in "
            "flavor f, 8 more needed. Pending the preemption of 1 workload(s). Preempting 1 "
            "workload(s) failed, will retry.");
  world.fault = nullptr;
  pass(std::chrono::seconds(11));
  EXPECT_TRUE(evicted("one"));
  EXPECT_EQ(message("high"),
            "couldn't assign flavors to pod set launcher: insufficient unused quota for gpu in "
            "flavor f, 8 more needed. Pending the preemption of 2 workload(s)");
}

}  // namespace
}  // namespace athanor::kueue::test::refused_writes_test
