// SPDX-License-Identifier: Apache-2.0
// What the board keeps of what instruments say.
#include "runtime/metrics/instrument_board.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"

namespace athanor::runtime::instrument_board_test {
namespace {

constexpr double kBuckets[] = {1, 60};
constexpr MetricInfo kMetrics[] = {
    {.name = "t_things", .help = "Things."},
    {.name = "t_runs_total", .help = "Runs.", .type = MetricType::Counter},
    {.name = "t_stage_seconds",
     .help = "Stages.",
     .type = MetricType::Histogram,
     .buckets = kBuckets},
};
const Instant kStart = *parse_time("2026-01-01T00:00:00Z");

// The query says what to answer: "run x", "enter k stage", "leave k", "begin k stage", "drop x",
// "clear x".
void obey(const QuestionAnswered& asked, Samples& samples) {
  std::vector<std::string> words(1);
  for (const char c : asked.query) {
    c == ' ' ? words.emplace_back() : words.back() += c;
  }
  if (words[0] == "run" || words[0] == "drop" || words[0] == "clear") {
    samples.push_back({.metric = "t_runs_total",
                       .labels = {{"what", words[1]}},
                       .act = words[0] == "run"    ? Sample::Act::Put
                              : words[0] == "drop" ? Sample::Act::Drop
                                                   : Sample::Act::Clear});
    return;
  }
  Sample sample{.metric = "t_stage_seconds",
                .act = words[0] == "enter"   ? Sample::Act::Enter
                       : words[0] == "begin" ? Sample::Act::Begin
                                             : Sample::Act::Leave,
                .key = words[1]};
  if (words.size() > 2) {
    sample.labels = {{"stage", words[2]}};
  }
  samples.push_back(std::move(sample));
}

constexpr Instruments kInstruments{.metrics = kMetrics, .answered = obey};

class Board : public testing::Test {
 protected:
  void say(std::string_view words, int second = 0) {
    board.happened(QuestionAnswered{.query = words}, kStart + std::chrono::seconds(second));
  }
  [[nodiscard]] bool shows(const std::string& line) const {
    return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
  }

  Metrics metrics;
  InstrumentBoard board{{&kInstruments}, &metrics};
};

TEST_F(Board, CountsByLabels) {
  say("run a");
  say("run a");
  say("run b");
  EXPECT_TRUE(shows("t_runs_total{what=\"a\"} 2")) << metrics.text();
  EXPECT_TRUE(shows("t_runs_total{what=\"b\"} 1")) << metrics.text();
}

TEST_F(Board, HidesDroppedSeries) {
  say("run a");
  say("run b");
  say("drop a");
  say("drop never-seen");
  EXPECT_EQ(metrics.text().find("\"a\""), std::string::npos);
  EXPECT_EQ(metrics.text().find("never-seen"), std::string::npos);
  EXPECT_TRUE(shows("t_runs_total{what=\"b\"} 1"));
  say("run a");
  EXPECT_TRUE(shows("t_runs_total{what=\"a\"} 1")) << "it begins anew";
}

TEST(BoardOfRoles, ClearsCountsOfEachRole) {
  static constexpr Instruments kOfARole{
      .metrics = kMetrics, .role_label = "role", .answered = obey};
  Metrics metrics;
  InstrumentBoard board({&kOfARole}, &metrics);
  const auto say = [&](std::string_view words) {
    board.happened(QuestionAnswered{.query = words}, kStart);
  };
  say("run a");
  board.set_role("leader");
  say("run a");
  say("run b");
  say("clear a");
  EXPECT_EQ(metrics.text().find("\"a\""), std::string::npos) << metrics.text();
  EXPECT_NE(metrics.text().find("t_runs_total{role=\"leader\",what=\"b\"} 1"), std::string::npos);
}

TEST_F(Board, AStageIsTimedWhenItIsLeft) {
  say("enter k one", 0);
  say("enter k two", 30);
  say("leave k", 35);
  EXPECT_TRUE(shows("t_stage_seconds_sum{stage=\"one\"} 30")) << metrics.text();
  EXPECT_TRUE(shows("t_stage_seconds_bucket{stage=\"one\",le=\"60\"} 1")) << metrics.text();
  EXPECT_TRUE(shows("t_stage_seconds_sum{stage=\"two\"} 5")) << metrics.text();
  say("leave k", 50);
  EXPECT_TRUE(shows("t_stage_seconds_count{stage=\"two\"} 1")) << "it is in no stage any more";
}

TEST_F(Board, AStageOfUnknownBeginningIsNotTimed) {
  say("begin k one", 0);
  say("enter k two", 30);
  EXPECT_EQ(metrics.text().find("stage=\"one\""), std::string::npos) << metrics.text();
}

class EmptySnapshot final : public Snapshot {
 public:
  [[nodiscard]] std::optional<Object> get(const Kind& /*kind*/, const Key& /*key*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::vector<Object> list(const Kind& /*kind*/,
                                         const Select& /*select*/) const override {
    return {};
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view /*section*/) const override {
    static const Value kNone;
    return kNone;
  }
};

// A change marks the age of its object; one that is gone has none.
void mark(const View& /*view*/, const ObjectChanged& change, Samples& samples) {
  samples.push_back({.metric = "t_things",
                     .labels = {{"name", "a"}},
                     .act = change.after == nullptr ? Sample::Act::Drop : Sample::Act::Mark});
}

TEST(BoardOfAges, ShowsTheSecondsSinceAMark) {
  static constexpr Instruments kMarking{.metrics = kMetrics, .witnessed = mark};
  Metrics metrics;
  InstrumentBoard board({&kMarking}, &metrics);
  const EmptySnapshot snapshot;
  const Object object(Value::object());
  const auto shown = [&](int second) {
    return board.state(snapshot, {}, kStart + std::chrono::seconds(second));
  };
  const ObjectChanged came{.kind = api::kPod, .after = &object};
  board.happened(came, kStart, &snapshot);
  EXPECT_NE(shown(30).find("t_things{name=\"a\"} 30\n"), std::string::npos) << shown(30);
  board.happened(came, kStart + std::chrono::seconds(40), &snapshot);
  EXPECT_NE(shown(45).find("t_things{name=\"a\"} 5\n"), std::string::npos) << shown(45);
  EXPECT_NE(shown(0).find("t_things{name=\"a\"} 0\n"), std::string::npos) << "a clock that stepped";
  board.happened(ObjectChanged{.kind = api::kPod, .before = &object}, kStart, &snapshot);
  EXPECT_EQ(shown(50), "");
}

TEST(Gauges, AreTextInTheirOrder) {
  const Samples samples{{.metric = "t_things", .labels = {{"name", "a\"b\\c\nd"}}, .value = 2.5},
                        {.metric = "other", .value = 1},
                        {.metric = "t_things", .value = 1767225600}};
  EXPECT_EQ(gauges_text(kMetrics, samples),
            "# HELP t_things Things.\n# TYPE t_things gauge\n"
            "t_things{name=\"a\\\"b\\\\c\\nd\"} 2.5\nt_things 1767225600\n");
}

constexpr MetricInfo kOfRole[] = {
    {.name = "t_role_total", .help = "Counted.", .type = MetricType::Counter},
    {.name = "t_build", .help = "Build.", .type = MetricType::Counter, .without_role = true}};
constexpr Instruments kWithRole{
    .metrics = kOfRole,
    .role_label = "replica_role",
    .answered = [](const QuestionAnswered& answer, Samples& samples) {
      samples.push_back({.metric = answer.query == "build" ? "t_build" : "t_role_total"});
    }};

TEST(BoardOfARole, LabelsSeriesWithReplicaRole) {
  Metrics metrics;
  InstrumentBoard board({&kWithRole}, &metrics);
  board.happened(QuestionAnswered{.query = "x"}, kStart);
  board.set_role("leader");
  board.happened(QuestionAnswered{.query = "x"}, kStart);
  board.happened(QuestionAnswered{.query = "build"}, kStart);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("t_role_total{replica_role=\"standalone\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("t_role_total{replica_role=\"leader\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("t_build 1"), std::string::npos) << text;
}

TEST(BoardWithoutMetrics, DoesNothing) {
  InstrumentBoard board({&kInstruments}, nullptr);
  EXPECT_FALSE(board.active());
  board.happened(QuestionAnswered{.query = "run a"}, kStart);
}

}  // namespace
}  // namespace athanor::runtime::instrument_board_test
