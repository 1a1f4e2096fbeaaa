// SPDX-License-Identifier: Apache-2.0
// A broken invariant costs the key or the input at hand.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <vector>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_guard_test {
namespace {

class Contained : public ::testing::Test {
 protected:
  Contained() { set_broken_invariants_fatal(false); }
  ~Contained() override { set_broken_invariants_fatal(true); }

  std::vector<Effect> feed(const Input& input) {
    std::vector<Effect> effects;
    engine->feed(input, now, effects);
    return effects;
  }
  int writes(const Input& input) {
    int count = 0;
    for (const Effect& effect : feed(input)) {
      count += std::holds_alternative<SendWrite>(effect) ? 1 : 0;
    }
    return count;
  }
  void run(const Operator& op) {
    operators = {&op};
    engine = std::make_unique<Engine>(operators,
                                      EngineOptions{.entropy = entropy.get(), .metrics = &metrics});
  }
  static Relisted maps() {
    return {.kind = &kConfigMap,
            .objects = {object(kConfigMap, "bad", 5), object(kConfigMap, "good", 6)},
            .version = 100};
  }
  [[nodiscard]] bool counted(const std::string& who, int times) const {
    return metrics.text().find("athanor_broken_invariants_total{controller=\"" + who + "\"} " +
                               std::to_string(times)) != std::string::npos;
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  Metrics metrics{};
  std::array<const Operator*, 1> operators{};
  std::unique_ptr<Engine> engine{};
  Instant now = *parse_time("2026-01-05T00:00:00Z");
};

Plan write_status(const Key& key) {
  Plan plan;
  plan.then(Status{.target = {&kConfigMap, key}, .status = Value::object({{"said", "yes"}})});
  return plan;
}
constexpr const Kind* kMaps[] = {&kConfigMap};
constexpr Access kGetOnly[] = {{&kConfigMap, "get"}};
constexpr Access kMayWrite[] = {{&kConfigMap, "patch", "status"}, {&kPod, "create"}};
bool allowed = false;

// The plan of one key does what nobody declared.
Plan create_secretly(const View&, const Key& key, Instant) {
  if (key.name == "good" || allowed) {
    return write_status(key);
  }
  Plan plan;
  plan.then(Create{.target = {&kPod, key}, .object = Value::object()});
  return plan;
}

TEST_F(Contained, LimitsStepWithoutRightToItsKey) {
  const Operator op{.name = "sneaky",
                    .primary = &kConfigMap,
                    .writes = kMaps,
                    .reconcile = create_secretly,
                    .access = kMayWrite};
  allowed = false;
  run(op);
  EXPECT_EQ(writes(maps()), 1) << "the other key goes on";
  EXPECT_TRUE(counted("sneaky", 1)) << metrics.text();
  const Value key = engine->debug(now, 10)["keys"][0];
  EXPECT_EQ(key["key"].as_string(), "a/bad");
  EXPECT_EQ(key["state"].as_string(), "backoff");
  EXPECT_NE(key["error"].as_string().find("create pods"), std::string_view::npos)
      << key["error"].as_string();
  allowed = true;
  now += seconds(1);
  EXPECT_EQ(writes(Tick{}), 1) << "it is tried again";
}

// What a replay up to that time needs: the key, the instant of the input, the plan.
TEST_F(Contained, LogsKeyTimeAndSteps) {
  const Operator op{.name = "sneaky",
                    .primary = &kConfigMap,
                    .writes = kMaps,
                    .reconcile = create_secretly,
                    .access = kMayWrite};
  allowed = false;
  run(op);
  log::configure(log::Level::Error, log::Format::Json);
  testing::internal::CaptureStderr();
  feed(maps());
  const std::string text = testing::internal::GetCapturedStderr();
  log::configure(log::Level::Info, log::Format::Auto);
  for (const char* part :
       {R"("level":"error","msg":"a broken invariant costs a key","controller":"sneaky",)",
        R"("key":"a/bad","what":")", R"("time":"2026-01-05T00:00:00.000000Z")",
        R"("steps":"create Pod a/bad"})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(Contained, EndsProgramOnFatalInvariant) {
  const Operator op{.name = "sneaky",
                    .primary = &kConfigMap,
                    .writes = kMaps,
                    .reconcile = create_secretly,
                    .access = kGetOnly};
  EXPECT_DEATH(
      {
        set_broken_invariants_fatal(true);
        run(op);
        feed(maps());
      },
      "declared, not: ");
}

Plan break_one(const View&, const Key& key, Instant) {
  ATHANOR_CHECK(key.name != "bad" || allowed, "this key is broken");
  return write_status(key);
}

TEST_F(Contained, ABrokenFunctionCostsItsKeyAlone) {
  const Operator op{
      .name = "broken", .primary = &kConfigMap, .writes = kMaps, .reconcile = break_one};
  allowed = false;
  run(op);
  EXPECT_EQ(writes(maps()), 1);
  EXPECT_TRUE(counted("broken", 1)) << metrics.text();
  allowed = true;
  now += seconds(1);
  EXPECT_EQ(writes(Tick{}), 1);
}

// As a library does that meets a text it cannot read.
Plan throw_for_one(const View&, const Key& key, Instant) {
  if (key.name == "bad" && !allowed) {
    throw std::out_of_range("this key throws");
  }
  return write_status(key);
}
bool throw_on_change(const Kind&, const Object&, const Object&) {
  throw std::out_of_range("this filter throws");
}

TEST_F(Contained, RetriesTheKeyThatThrows) {
  const Operator op{
      .name = "throwing", .primary = &kConfigMap, .writes = kMaps, .reconcile = throw_for_one};
  allowed = false;
  run(op);
  EXPECT_EQ(writes(maps()), 1) << "the other key goes on";
  EXPECT_TRUE(counted("throwing", 1)) << metrics.text();
  allowed = true;
  now += seconds(1);
  EXPECT_EQ(writes(Tick{}), 1);
}

std::vector<std::string> break_the_index(const Object& object) {
  ATHANOR_CHECK(object.name() != "bad", "this object cannot be filed");
  return {"all"};
}
Plan count_all(const View& view, const Key&, Instant) {
  Plan plan;
  plan.then(
      Status{.target = {&kConfigMap, {"a", "good"}},
             .status = Value::object(
                 {{"seen", view.list(kConfigMap, {.index = "i", .index_value = "all"}).size()}})});
  return plan;
}

Plan list_all(const View& view, const Key&, Instant) {
  static_cast<void>(view.list(kConfigMap));
  return {};
}

TEST_F(Contained, RunsTheKeyWhoseFilterThrows) {
  const Operator op{.name = "filtering",
                    .primary = &kConfigMap,
                    .reads = kMaps,
                    .reconcile = list_all,
                    .singleton = true,
                    .overlooks = throw_on_change,
                    .small = kMaps};
  run(op);
  feed(maps());
  WatchEvent event{.kind = &kConfigMap, .object = object(kConfigMap, "good", 101)};
  event.object = Object([&] {
    Value body = event.object.body();
    body.set_path({"data", "a"}, "b");
    return body;
  }());
  feed(event);
  EXPECT_TRUE(counted("filtering", 1)) << metrics.text();
}

TEST_F(Contained, FindsUnfiledObjectUnderNoValue) {
  static const Index kIndexes[] = {{.kind = &kConfigMap, .name = "i", .values = break_the_index}};
  const Operator op{.name = "counter",
                    .primary = &kConfigMap,
                    .reads = kMaps,
                    .writes = kMaps,
                    .indexes = kIndexes,
                    .reconcile = count_all,
                    .singleton = true};
  run(op);
  EXPECT_EQ(writes(maps()), 1);
  EXPECT_EQ(writes(WatchEvent{.kind = &kConfigMap, .object = object(kConfigMap, "bad", 101)}), 0);
  EXPECT_NE(metrics.text().find("athanor_broken_invariants_total{controller=\"caches\"}"),
            std::string::npos)
      << metrics.text();
}

std::int64_t weight = 1;
void weigh(const Object& /*object*/, Totals& totals) {
  totals["all"] += weight;
}
std::vector<std::string> file_under_all(const Object& /*object*/) {
  return {"all"};
}
Plan sum_up(const View& view, const Key&, Instant now) {
  const Totals sums = view.totals(kConfigMap, {.index = "i", .index_value = "all"}, weigh);
  Plan plan;
  plan.wake_at(now + seconds(sums.begin()->second));
  return plan;
}

TEST_F(Contained, BreaksOnSumThatDiffersFromObjects) {
  static const Index kIndexes[] = {{.kind = &kConfigMap, .name = "i", .values = file_under_all}};
  const Operator op{.name = "summing",
                    .primary = &kConfigMap,
                    .reads = kMaps,
                    .indexes = kIndexes,
                    .reconcile = sum_up,
                    .singleton = true};
  operators = {&op};
  engine = std::make_unique<Engine>(
      operators, EngineOptions{.entropy = entropy.get(), .metrics = &metrics, .verify = true});
  weight = 1;
  feed(maps());
  EXPECT_FALSE(counted("summing", 1)) << metrics.text();
  weight = 2;  // as if the cache had missed changes
  feed(WatchEvent{.kind = &kConfigMap, .object = object(kConfigMap, "third", 102)});
  EXPECT_TRUE(counted("summing", 1)) << metrics.text();
}

TEST_F(Contained, UnderIndivisibleItEndsTheProgram) {
  const auto half_done = [] {
    return contain([] {
      const Indivisible whole;
      static_cast<void>(contain([] { ATHANOR_CHECK(false, "half of it is done"); }));
    });
  };
  EXPECT_DEATH(static_cast<void>(half_done()), "half of it is done");
}

}  // namespace
}  // namespace athanor::runtime::engine_guard_test
