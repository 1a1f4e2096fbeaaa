// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/plans/event_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "api/builtin.hpp"
#include "base/clock.hpp"

namespace athanor::runtime::event_recorder_test {
namespace {

constexpr Instant kNow{};

class EventRecorderTest : public ::testing::Test {
 protected:
  static Emit started(const std::string& pod, const std::string& note = "Started container") {
    return {.about = {&api::kPod, {"team-a", pod}},
            .type = "Normal",
            .reason = "Started",
            .note = note};
  }
  WriteRequest record(const Emit& step, std::string_view uid = "u1") {
    return recorder_.record(step, uid, {.component = "kubelet", .manager = "node"}, kNow);
  }

 private:
  std::unique_ptr<Entropy> entropy_ = seeded_entropy(5);
  EventRecorder recorder_{*entropy_};

 protected:
  EventRecorder& recorder() { return recorder_; }
};

TEST_F(EventRecorderTest, TheFirstOneIsCreated) {
  const WriteRequest request = record(started("a"));
  EXPECT_EQ(request.verb, WriteVerb::Create);
  EXPECT_EQ(request.target.key.ns, "team-a");
  EXPECT_THAT(request.target.key.name, ::testing::MatchesRegex("a\\.[0-9a-f]+"));
  EXPECT_EQ(request.target.key.name.size(), 2U + 16);
  EXPECT_EQ(request.body["metadata"]["name"].as_string(), request.target.key.name);
  EXPECT_EQ(request.body["count"], 1);
  EXPECT_EQ(request.body["source"]["component"], Value("kubelet"));
  EXPECT_EQ(request.body["reportingComponent"], Value("kubelet"));
  EXPECT_EQ(request.manager, "node");
}

TEST_F(EventRecorderTest, AStepNamesAnotherComponent) {
  const WriteRequest first = record(started("a"));
  Emit step = started("a");
  step.component = "second-scheduler";
  const WriteRequest request = record(step);
  EXPECT_EQ(request.verb, WriteVerb::Create) << "another event than the operator's own";
  EXPECT_EQ(request.body["source"]["component"], Value("second-scheduler"));
  EXPECT_EQ(request.body["reportingComponent"], Value("second-scheduler"));
  EXPECT_EQ(record(step).target.key, request.target.key);
  EXPECT_NE(request.target.key, first.target.key);
}

TEST_F(EventRecorderTest, RaisesCountOfFirstEqualEvent) {
  const WriteRequest first = record(started("a"));
  record(started("b"));
  for (int count = 2; count < 5; ++count) {
    const WriteRequest again = record(started("a"));
    EXPECT_EQ(again.verb, WriteVerb::MergePatch);
    EXPECT_EQ(again.target.key, first.target.key);
    EXPECT_EQ(again.body["count"], count);
  }
}

TEST_F(EventRecorderTest, AnotherNoteOrObjectIsAnotherEvent) {
  record(started("a"));
  EXPECT_EQ(record(started("a", "Started another")).verb, WriteVerb::Create);
  EXPECT_EQ(record(started("a"), "u2").verb, WriteVerb::Create);
}

TEST_F(EventRecorderTest, MakesNewEventAfterForget) {
  const WriteRequest first = record(started("a"));
  recorder().forget(first.target.key);
  const WriteRequest again = record(started("a"));
  EXPECT_EQ(again.verb, WriteVerb::Create);
  EXPECT_NE(again.target.key, first.target.key);
  EXPECT_EQ(record(started("a")).target.key, again.target.key);
}

TEST_F(EventRecorderTest, NamesOfOthersAreNoneOfItsOwn) {
  const WriteRequest first = record(started("a"));
  recorder().forget({"team-a", "a"});
  recorder().forget({"team-a", "an-event-somebody-else-has-written"});
  EXPECT_EQ(record(started("a")).target.key, first.target.key);
}

TEST_F(EventRecorderTest, RemembersTheNewest) {
  for (std::size_t i = 0; i <= EventRecorder::kRemembered; ++i) {
    record(started("pod-" + std::to_string(i)));
  }
  EXPECT_EQ(record(started("pod-1")).verb, WriteVerb::MergePatch);
  EXPECT_EQ(record(started("pod-0")).verb, WriteVerb::Create);
  EXPECT_EQ(record(started("pod-1")).verb, WriteVerb::Create) << "pod-0 took its place";
}

}  // namespace
}  // namespace athanor::runtime::event_recorder_test
