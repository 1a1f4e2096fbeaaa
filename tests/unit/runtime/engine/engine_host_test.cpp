// SPDX-License-Identifier: Apache-2.0
// The controllers thread: order, timers, and a clock that steps.
#include "runtime/engine/engine_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "api/builtin.hpp"
#include "base/contain.hpp"
#include "support/eventually.hpp"

namespace athanor::runtime::engine_host_test {
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

TEST_F(EngineHostTest, RunsNoKeyBeforeLeading) {
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

TEST_F(EngineHostTest, WakesSleepersWhenClockGoesBack) {
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

// Every call of the world and of an executor throws, as broken code of a lab's side does.
class BrokenWorldTest : public ::testing::Test {
 protected:
  BrokenWorldTest() {
    set_broken_invariants_fatal(false);
    executors.on_probe("ask", [](const std::string&, const Executors::Completion&) {
      throw std::runtime_error("the probe throws");
    });
    executors.on_act("do", [](const std::string&, const Value&, const Executors::Completion&) {
      throw std::runtime_error("the act throws");
    });
  }
  ~BrokenWorldTest() override {
    host->stop();
    set_broken_invariants_fatal(true);
  }

  void start(World world) {
    static constexpr const Kind* kMaps[] = {&kConfigMap};
    static const Operator kAsker{.name = "asker",
                                 .primary = &kConfigMap,
                                 .reads = kMaps,
                                 .writes = kMaps,
                                 .reconcile = ask_and_do,
                                 .backoff = {.first = milliseconds(20), .most = milliseconds(40)}};
    const Operator* const operators[] = {&kAsker};
    host = std::make_shared<EngineHost>(
        operators, EngineOptions{.entropy = entropy.get()},
        HostOptions{.clock = clock.get(), .executors = &executors, .world = std::move(world)});
    host->start();
    for (const char* name : {"bad", "good"}) {
      objects.emplace_back(Value::object(
          {{"kind", "ConfigMap"},
           {"metadata",
            Value::object({{"name", name}, {"namespace", "a"}, {"resourceVersion", "5"}})}}));
    }
    host->post(Input(Relisted{.kind = &kConfigMap, .objects = objects, .version = 9}));
  }

  // Probes, acts and writes; counts the answers that are errors.
  static Plan ask_and_do(const View& view, const Key& key, Instant) {
    Plan plan;
    const Observed answer = view.observe("ask:" + key.name, std::chrono::hours(1));
    const Observed done = view.observe("do:" + key.name, std::chrono::hours(1));
    failures += answer.error ? 1 : 0;
    failures += done.error ? 1 : 0;
    plan.then(Act{.id = key.name, .verb = "do"});
    plan.then(Status{.target = {&kConfigMap, key}, .status = Value::object({{"a", 1}})});
    return plan;
  }

  static inline std::atomic<int> failures{0};
  std::unique_ptr<Clock> clock = wall_clock();
  Executors executors{};
  std::vector<Object> objects{};
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::shared_ptr<EngineHost> host{};
};

TEST_F(BrokenWorldTest, TurnsExceptionsIntoErrors) {
  std::atomic<int> writes{0};
  failures = 0;
  start({.write =
             [&](const SendWrite&) {
               ++writes;
               throw std::runtime_error("the write throws");
             },
         .relist = [](const Relist&) { throw std::runtime_error("the list throws"); },
         .more = [](Instant) -> std::optional<Instant> {
           throw std::runtime_error("the loops throw");
         }});
  EXPECT_TRUE(eventually([&] { return failures > 3; })) << failures;
  EXPECT_TRUE(eventually([&] { return writes > 5; })) << "both keys retry: " << writes;
}

TEST_F(EngineHostTest, AnswersUnhandledObservationsAtOnce) {
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
}  // namespace athanor::runtime::engine_host_test
