// SPDX-License-Identifier: Apache-2.0
// The controllers thread: order, timers, and a clock that steps.
#include "runtime/engine/engine_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "api/builtin.hpp"
#include "support/eventually.hpp"

namespace athanor::runtime {
namespace {

using api::kConfigMap;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::eventually;

constexpr const Kind* kKinds[] = {&kConfigMap};

// Fails until the name of the object is "calm".
Plan worry(const View& view, const Key& key, Instant now) {
  Plan plan;
  if (!view.get(kConfigMap, key)) {
    return plan;
  }
  if (key.name == "sleeper") {
    plan.wake_at(now + hours(5));
    return plan;
  }
  return key.name == "calm" ? plan : Plan::retry(Error::unavailable("not yet"));
}

constexpr Operator kWorrier{.name = "worrier",
                            .primary = &kConfigMap,
                            .reads = kKinds,
                            .writes = kKinds,
                            .reconcile = worry,
                            .backoff = {.first = milliseconds(20), .most = milliseconds(40)}};

// Moves when it is told to.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return real_->now() + step_.load(); }
  void step(Duration by) { step_ = by; }

 private:
  std::unique_ptr<Clock> real_ = wall_clock();
  std::atomic<Duration> step_{Duration::zero()};
};

class Journal final : public EngineJournal {
 public:
  void input(const Engine& /*engine*/, const Input& input, Instant /*now*/) override {
    steps += std::holds_alternative<ClockStep>(input) ? 1 : 0;
  }
  void ran(std::span<const Effect> /*effects*/, Instant /*now*/) override { ++runs; }
  std::atomic<int> steps{0};
  std::atomic<int> runs{0};
};

class EngineHostTest : public ::testing::Test {
 protected:
  EngineHostTest() {
    const Operator* const operators[] = {&kWorrier};
    host = std::make_shared<EngineHost>(
        operators, EngineOptions{.entropy = entropy.get()},
        HostOptions{.clock = &clock,
                    .executors = &executors,
                    .world = {.write = [](const SendWrite&) {}, .relist = [](const Relist&) {}},
                    .journal = &journal,
                    .steady =
                        [] {
                          return std::chrono::duration_cast<Duration>(
                              std::chrono::steady_clock::now().time_since_epoch());
                        },
                    .running = false});
    host->start();
  }
  ~EngineHostTest() override { host->stop(); }

  void list(const std::string& name) {
    Object object(Value::object(
        {{"kind", "ConfigMap"},
         {"metadata",
          Value::object({{"name", name}, {"namespace", "a"}, {"resourceVersion", "5"}})}}));
    host->post(Input(Relisted{.kind = &kConfigMap, .objects = {object}, .version = 9}));
  }
  void lead() {
    host->post(EngineHost::Task([this] { host->run_keys(true); }));
  }
  int failures() {
    std::atomic<int> count{-1};
    host->post(EngineHost::Task([&] {
      const Value keys = host->engine().debug(clock.now(), 10)["keys"];
      count = keys.empty() ? 0 : static_cast<int>(keys[0]["failures"].as_int());
    }));
    EXPECT_TRUE(eventually([&] { return count >= 0; }));
    return count;
  }

  SteppingClock clock{};
  Journal journal{};
  Executors executors{};
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::shared_ptr<EngineHost> host{};
};

TEST_F(EngineHostTest, RunsNoKeyUntilItIsToldTo) {
  list("worry");
  EXPECT_EQ(failures(), 0);
  EXPECT_EQ(journal.runs, 0);
  lead();
  EXPECT_TRUE(eventually([&] { return failures() > 1; }));
}

TEST_F(EngineHostTest, TasksRunInTheOrderTheyCame) {
  std::vector<int> order;
  std::atomic<bool> done{false};
  for (int i = 0; i < 100; ++i) {
    host->post(EngineHost::Task([&order, i] { order.push_back(i); }));
  }
  host->post(EngineHost::Task([&] { done = true; }));
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.size(), 100U);
}

TEST_F(EngineHostTest, AClockThatGoesBackDelaysNoRetry) {
  list("worry");
  lead();
  EXPECT_TRUE(eventually([&] { return failures() > 2; }));
  clock.step(-hours(3));
  const int before = failures();
  EXPECT_TRUE(eventually([&] { return failures() > before + 3; }));
  EXPECT_GE(journal.steps, 1);
}

TEST_F(EngineHostTest, AClockThatGoesBackLetsSleepersChooseAnew) {
  list("sleeper");
  lead();
  EXPECT_TRUE(eventually([&] { return host->idle() && journal.runs > 0; }));
  const auto wake = [&] {
    std::atomic<std::int64_t> due{0};
    host->post(EngineHost::Task(
        [&] { due = host->engine().next_due().value_or(Instant()).time_since_epoch().count(); }));
    EXPECT_TRUE(eventually([&] { return due != 0; }));
    return Instant(Duration(due.load()));
  };
  EXPECT_GT(wake(), clock.now() + hours(4));
  clock.step(-hours(3));
  host->post(EngineHost::Task([] {}));  // the loop looks at the clock whenever it turns
  EXPECT_TRUE(eventually([&] { return wake() < clock.now() + hours(5) + seconds(1); }));
}

TEST_F(EngineHostTest, WhatNobodyAnswersIsAnsweredAtOnce) {
  std::atomic<bool> dropped{false};
  host->post(EngineHost::Task([&] {
    host->absorb(answered("ask:x", Error::not_found("nobody"), 0));
    dropped = true;
  }));
  EXPECT_TRUE(eventually([&] { return dropped.load(); }));
  host->stop();
  host->post(EngineHost::Task([] { FAIL() << "runs after the end"; }));
}

}  // namespace
}  // namespace athanor::runtime
