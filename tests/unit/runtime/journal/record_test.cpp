// SPDX-License-Identifier: Apache-2.0
// What is recorded, and what a replay makes of it: the same decisions by the same controllers, and
// each other decision told.
#include "runtime/journal/record.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "runtime/journal/replay.hpp"

namespace athanor::runtime::record_test {
namespace {

using api::kConfigMap;
using api::kSecret;

constexpr const Kind* kKinds[] = {&kConfigMap, &kSecret};

Plan copy(const View& view, const Key& key, std::string_view suffix) {
  Plan plan;
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return plan;
  }
  const Value& data = map->body()["data"];
  const Observed seen = view.observe("ask:" + key.name, std::chrono::hours(1));
  const auto secret = view.get(kSecret, {"a", "s"});
  const std::string wish = data["wish"].str() + std::string(suffix);
  if (!wish.empty() && data["done"].as_string() != wish) {
    Value done = Value::object({{"done", wish}});
    if (seen.value) {
      done.set("seen", *seen.value);
    }
    plan.then(Patch{.target = {&kConfigMap, key}, .merge = Value::object({{"data", done}})});
  }
  if (secret && !view.get(kSecret, {"a", key.name})) {
    plan.then(Create{.target = {&kSecret, {"a", key.name}},
                     .object = Value::object({{"data", secret->body()["data"]}})});
  }
  return plan;
}
Plan as_before(const View& view, const Key& key, Instant /*now*/) {
  return copy(view, key, "");
}
Plan otherwise(const View& view, const Key& key, Instant /*now*/) {
  return copy(view, key, "!");
}

constexpr Operator kThen{.name = "copier",
                         .primary = &kConfigMap,
                         .reads = kKinds,
                         .writes = kKinds,
                         .reconcile = as_before};
constexpr Operator kNow{.name = "copier",
                        .primary = &kConfigMap,
                        .reads = kKinds,
                        .writes = kKinds,
                        .reconcile = otherwise};

Object object(const Kind& kind, const std::string& name, int version, Value data) {
  return Object(
      Value::object({{"apiVersion", "v1"},
                     {"kind", kind.name},
                     {"metadata", Value::object({{"name", name},
                                                 {"namespace", "a"},
                                                 {"uid", "u-" + name},
                                                 {"resourceVersion", std::to_string(version)}})},
                     {"data", std::move(data)}}));
}

class RecordTest : public ::testing::Test {
 protected:
  explicit RecordTest(bool secrets = false, const Places& places = {})
      : engine(operators, EngineOptions{.entropy = entropy.get(), .places = places}),
        recorder({.version = "1.0",
                  .operators = {"copier"},
                  .places = places,
                  .seed = 7,
                  .secrets = secrets},
                 [this](std::string_view line) {
                   lines.emplace_back(line);
                   return lines.size() < limit;
                 }) {}

  void feed(const Input& input) {
    recorder.input(engine, input, now);
    engine.absorb(input, now);
    run();
  }
  void run() {
    std::vector<Effect> effects;
    engine.run(now, effects);
    recorder.ran(effects, now);
    for (const Effect& effect : effects) {
      if (const auto* send = std::get_if<SendWrite>(&effect)) {
        writes.push_back(*send);
      } else if (const auto* probe = std::get_if<Probe>(&effect)) {
        probes.push_back(*probe);
      }
    }
    now += std::chrono::seconds(1);
  }
  // A day in the life: a list, a change, a question, writes with their answers, a step of the
  // clock.
  void live() {
    feed(Relisted{.kind = &kSecret,
                  .objects = {object(kSecret, "s", 90, Value::object({{"key", "c2VjcmV0"}}))},
                  .version = 100});
    feed(Relisted{.kind = &kConfigMap, .version = 100, .last = false});
    feed(Relisted{.kind = &kConfigMap,
                  .objects = {object(kConfigMap, "m", 91, Value::object({{"wish", "gold"}}))},
                  .version = 100,
                  .first = false});
    ASSERT_EQ(probes.size(), 1U);
    feed(Observation{.query = probes[0].query, .value = Value("yes"), .asked = probes[0].id});
    ASSERT_EQ(writes.size(), 1U);
    Object stored =
        object(kConfigMap, "m", 101, Value::object({{"wish", "gold"}, {"done", "gold"}}));
    feed(WriteResult{.id = writes[0].id, .object = stored});
    ASSERT_EQ(writes.size(), 2U) << "the Secret follows";
    feed(WriteResult{.id = writes[1].id, .error = Error::unavailable("down")});
    feed(WatchEvent{.kind = &kConfigMap, .object = stored});
    feed(ClockStep{.by = std::chrono::hours(-1)});
    feed(Tick{});
    feed(WatchEvent{.type = WatchEvent::Type::Bookmark,
                    .kind = &kSecret,
                    .object = Object(Value::object(
                        {{"metadata", Value::object({{"resourceVersion", "120"}})}}))});
    feed(WatchEvent{.type = WatchEvent::Type::Deleted,
                    .kind = &kConfigMap,
                    .object = object(kConfigMap, "m", 130, Value::object())});
  }
  struct Outcome {
    std::size_t decisions = 0;
    std::vector<Decision> differing{};
    std::uint64_t skipped = 0;
  };
  [[nodiscard]] Outcome replay(const Operator& op) const {
    Outcome outcome;
    auto opened = Replay::open(*json::parse(lines[0]), [&](std::string_view name) {
      return name == op.name ? &op : nullptr;
    });
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto done = (*opened)->feed(*json::parse(lines[i]));
      EXPECT_TRUE(done.ok()) << lines[i] << done.error().message;
      if (done.ok() && *done) {
        for (const Decision& decision : (*done)->decisions) {
          ++outcome.decisions;
          if (decision.differs()) {
            outcome.differing.push_back(decision);
          }
        }
      }
    }
    outcome.skipped = (*opened)->skipped();
    return outcome;
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines) {
      all += line;
    }
    return all;
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(7);
  const Operator* const operators[1] = {&kThen};
  Engine engine;
  Instant now{std::chrono::hours(24 * 365 * 50)};
  std::size_t limit = 1'000'000;
  std::vector<std::string> lines{};
  Recorder recorder;
  std::vector<SendWrite> writes{};
  std::vector<Probe> probes{};
};

TEST_F(RecordTest, TheSameControllersDecideTheSame) {
  live();
  const Outcome outcome = replay(kThen);
  EXPECT_GE(outcome.decisions, 4U);
  EXPECT_EQ(outcome.differing.size(), 0U);
  EXPECT_EQ(outcome.skipped, 0U);
}

TEST_F(RecordTest, ReportsDifferentDecision) {
  live();
  const Outcome outcome = replay(kNow);
  ASSERT_FALSE(outcome.differing.empty());
  const Decision& first = outcome.differing.front();
  EXPECT_EQ(first.recorded["body"]["data"]["done"].as_string(), "gold");
  EXPECT_EQ(first.now["body"]["data"]["done"].as_string(), "gold!");
  EXPECT_EQ(first.now["controller"].as_string(), "copier");
}

TEST_F(RecordTest, RecordsChangesAsDifferences) {
  live();
  for (const std::string& line : lines) {
    if (line.starts_with("[\"c\"")) {
      const Value entry = *json::parse(line);
      EXPECT_EQ(json::print(entry[3]), R"(["a","m"])");
      EXPECT_EQ(json::print(entry[4]),
                R"({"metadata":{"resourceVersion":"101"},"data":{"done":"gold"}})");
    }
  }
}

TEST_F(RecordTest, SecretsAreLeftOut) {
  live();
  EXPECT_EQ(text().find("c2VjcmV0"), std::string::npos);
  EXPECT_NE(text().find(R"("kind":"Secret")"), std::string::npos);
}

// Of kinds that are watched in namespaces of their own, these alone are waited for.
class RecordWithPlaces : public RecordTest {
 protected:
  RecordWithPlaces()
      : RecordTest(false,
                   {{&kConfigMap, {.watched = {"a"}}}, {&kSecret, {.watched = {"a", "b"}}}}) {}
};

TEST_F(RecordWithPlaces, TheSameControllersDecideTheSame) {
  for (const char* ns : {"a", "b"}) {
    feed(Relisted{.kind = &kSecret, .version = 100, .ns = ns});
  }
  feed(Relisted{.kind = &kConfigMap,
                .objects = {object(kConfigMap, "m", 91, Value::object({{"wish", "gold"}}))},
                .version = 100,
                .ns = "a"});
  ASSERT_EQ(probes.size(), 1U);
  feed(Observation{.query = probes[0].query, .value = Value("yes"), .asked = probes[0].id});
  ASSERT_EQ(writes.size(), 1U);
  const Outcome outcome = replay(kThen);
  EXPECT_GE(outcome.decisions, 2U);
  EXPECT_EQ(outcome.differing.size(), 0U);
}

class RecordWithSecrets : public RecordTest {
 protected:
  RecordWithSecrets() : RecordTest(true) {}
};

TEST_F(RecordWithSecrets, AreKeptWhenAskedFor) {
  live();
  EXPECT_NE(text().find("c2VjcmV0"), std::string::npos);
}

TEST_F(RecordTest, EndsWhenTheSinkSaysSo) {
  limit = 3;
  live();
  EXPECT_EQ(lines.size(), 3U);
}

TEST_F(RecordTest, RefusesInvalidHeadAndUnknownControllers) {
  const auto none = [](std::string_view) -> const Operator* { return nullptr; };
  EXPECT_FALSE(Replay::open(Value::object(), none).ok());
  live();
  const auto gone = Replay::open(*json::parse(lines[0]), none);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().message, "this program has no controller copier");
}

TEST_F(RecordTest, ReportsMalformedLines) {
  live();
  auto opened = Replay::open(*json::parse(lines[0]), [](std::string_view) { return &kThen; });
  for (const char* line :
       {R"({})", R"([])", R"(["x", 1, 0])", R"(["c", 1, 0, ["a", "unknown"], {}])"}) {
    EXPECT_FALSE((*opened)->feed(*json::parse(line)).ok()) << line;
  }
}

TEST(Redacted, ReachesSecretsWhereverTheyAre) {
  const Value value = *json::parse(
      R"({"objects": [{"kind": "Secret", "data": {"a": "eA=="}, "stringData": {"b": "y"},
          "metadata": {"name": "s", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "eA=="}}},
          {"kind": "Pod", "data": {"a": "eA=="}}]})");
  const Value shown = redacted(value);
  const Value& secret = shown["objects"][0];
  EXPECT_TRUE(base64_decode(secret["data"]["a"].as_string())->starts_with("redacted-"));
  EXPECT_NE(secret["stringData"]["b"].as_string(), "y");
  EXPECT_EQ(secret["metadata"]["name"].as_string(), "s");
  EXPECT_TRUE(secret["metadata"]["annotations"].empty());
  EXPECT_EQ(shown["objects"][1], value["objects"][1]);
  EXPECT_EQ(redacted(shown), shown);
}

}  // namespace
}  // namespace athanor::runtime::record_test
