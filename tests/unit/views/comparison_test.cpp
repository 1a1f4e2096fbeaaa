// SPDX-License-Identifier: Apache-2.0
// Jobs side by side: what differs, and by how many per cent.
#include "views/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "kube/text/yaml.hpp"
#include "views/result_files.hpp"

namespace athanor::views::comparison_test {
namespace {

Object object(std::string_view yaml) {
  return Object(*yaml::parse(yaml));
}

JobRecord record(const std::string& name, const std::string& batch, const std::string& seconds,
                 const std::string& throughput, const std::string& p99) {
  return {.job = object("metadata: {name: " + name + R"(}
spec: {pipeline: bench, owner: ann, forge: {project: llmd, args: [cks], configOverrides: {batch_size: )" +
                        batch + R"(}}}
status:
  phase: Succeeded
  cluster: cluster-1
  completionTime: "2026-01-31T08:00:)" +
                        seconds + R"(Z"
  conditions: [{type: WorkloadAdmitted, status: "True", lastTransitionTime: "2026-01-31T08:00:00Z"}])"),
          .run = object("status: {results: [{name: throughput, value: '" + throughput +
                        "\n'}, {name: latency, value: '{\"p99\": " + p99 + "}'}]}"),
          .task_runs = {object(R"(
metadata: {name: x, labels: {tekton.dev/pipelineTask: measure}}
status:
  startTime: "2026-01-31T08:00:00Z"
  completionTime: "2026-01-31T08:00:)" +
                               seconds + "Z\"\n  results: [{name: throughput, value: '" +
                               throughput + "'}, {name: note, value: warm}]")}};
}

const Comparison::Row* find_row(const std::vector<Comparison::Row>& rows, std::string_view name) {
  for (const Comparison::Row& row : rows) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

TEST(Comparison, ShowsDifferencesInPerCent) {
  const Comparison comparison = compare_jobs(
      {record("before", "64", "10", "200", "60"), record("after", "128", "15", "250", "45")},
      Parameters::Different, Instant());
  ASSERT_EQ(comparison.parameters.size(), 1U);
  EXPECT_EQ(comparison.parameters[0].name, "forge.configOverrides.batch_size");
  EXPECT_EQ(comparison.parameters[0].cells[1].text, "128");
  const auto* throughput = find_row(comparison.results, "throughput");
  ASSERT_NE(throughput, nullptr);
  EXPECT_DOUBLE_EQ(throughput->cells[1].percent.value_or(0), 25.0);
  const auto* p99 = find_row(comparison.results, "latency.p99");
  ASSERT_NE(p99, nullptr);
  EXPECT_DOUBLE_EQ(p99->cells[1].percent.value_or(0), -25.0);
  EXPECT_NE(find_row(comparison.results, "measure: note"), nullptr);
  EXPECT_EQ(find_row(comparison.results, "measure: throughput"), nullptr) << "told twice";
  const auto* measure = find_row(comparison.durations, "measure");
  ASSERT_NE(measure, nullptr);
  EXPECT_DOUBLE_EQ(measure->cells[1].percent.value_or(0), 50.0);
  const auto* whole = find_row(comparison.durations, "the whole run");
  ASSERT_NE(whole, nullptr);
  EXPECT_DOUBLE_EQ(whole->cells[0].number.value_or(0), 10.0);
}

TEST(Comparison, ShowsStepsOfTasksWithSeveral) {
  const auto with_steps = [](const std::string& name, const std::string& end) {
    JobRecord one = record(name, "64", "30", "1", "1");
    one.task_runs = {object(R"(
metadata: {name: x, labels: {tekton.dev/pipelineTask: measure}}
status:
  startTime: "2026-01-31T08:00:00Z"
  completionTime: "2026-01-31T08:00:30Z"
  steps:
  - {name: warm-up, terminated: {startedAt: "2026-01-31T08:00:00Z", finishedAt: "2026-01-31T08:00:)" +
                            end + R"(Z"}}
  - {name: run, terminated: {startedAt: "2026-01-31T08:00:)" +
                            end + R"(Z", finishedAt: "2026-01-31T08:00:30Z"}})"),
                     object(R"(
metadata: {name: y, labels: {tekton.dev/pipelineTask: single}}
status:
  startTime: "2026-01-31T08:00:00Z"
  completionTime: "2026-01-31T08:00:30Z"
  steps: [{name: only, terminated: {startedAt: "2026-01-31T08:00:00Z", finishedAt: "2026-01-31T08:00:30Z"}}])")};
    return one;
  };
  const Comparison comparison =
      compare_jobs({with_steps("a", "10"), with_steps("b", "15")}, Parameters::All, Instant());
  const auto* warm_up = find_row(comparison.durations, "measure/warm-up");
  ASSERT_NE(warm_up, nullptr);
  EXPECT_DOUBLE_EQ(warm_up->cells[0].number.value_or(0), 10.0);
  EXPECT_DOUBLE_EQ(warm_up->cells[1].percent.value_or(0), 50.0);
  EXPECT_NE(find_row(comparison.durations, "measure/run"), nullptr);
  EXPECT_NE(find_row(comparison.durations, "single"), nullptr);
  EXPECT_EQ(find_row(comparison.durations, "single/only"), nullptr);
}

TEST(Comparison, PrintsTheSameAsItsValue) {
  const Comparison comparison =
      compare_jobs({record("a", "64", "10", "0", "1"), record("b", "64", "10", "5", "x")},
                   Parameters::All, Instant());
  const std::string text = comparison.text(80);
  EXPECT_NE(text.find("PARAMETER"), std::string::npos) << text;
  EXPECT_NE(text.find("owner"), std::string::npos) << text;
  EXPECT_NE(text.find("10s (+0.0%)"), std::string::npos) << text;
  const Value value = comparison.to_value();
  EXPECT_EQ(value["jobs"][1]["name"].as_string(), "b");
  const Value& throughput = value["results"][0];
  EXPECT_EQ(throughput["name"].as_string(), "throughput");
  EXPECT_FALSE(throughput["cells"][1].contains("percent")) << "a change from nothing";
}

// The two jobs' text; both last so many seconds.
std::string durations(const std::string& before, const std::string& after) {
  const std::string text =
      compare_jobs({record("a", "64", before, "1", "1"), record("b", "64", after, "1", "1")},
                   Parameters::Different, Instant())
          .text(0);
  const std::size_t at = text.find("measure ");
  return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
}

TEST(Comparison, GivesNoPercentageOfTinyDurations) {
  for (const auto& [before, after, shown] :
       {std::tuple("01", "00", "1s <1s (n/a)"), std::tuple("00", "01", "<1s 1s (n/a)"),
        std::tuple("00", "00", "<1s <1s (n/a)"), std::tuple("30", "00", "30s <1s (n/a)"),
        std::tuple("02", "30", "2s 30s (n/a)"), std::tuple("10", "30", "10s 30s (+200.0%)")}) {
    std::string text = durations(before, after);
    // One blank between cells.
    text.erase(std::unique(text.begin(), text.end(),
                           [](char one, char other) { return one == ' ' && other == ' '; }),
               text.end());
    EXPECT_EQ(text, std::string("measure ") + shown);
  }
  const Comparison comparison =
      compare_jobs({record("a", "64", "01", "0", "1"), record("b", "64", "00", "5", "1")},
                   Parameters::Different, Instant());
  EXPECT_NE(comparison.text(0).find("too coarse for a percentage"), std::string::npos);
  EXPECT_NE(comparison.text(0).find("5 (n/a)"), std::string::npos) << "a result from 0 to 5";
  EXPECT_FALSE(comparison.to_value()["durations"][0]["cells"][1].contains("percent"));
}

TEST(Comparison, TakesWholeNumbersAlone) {
  EXPECT_EQ(number_of("12"), 12.0);
  EXPECT_EQ(number_of("-1.5e3"), -1500.0);
  EXPECT_EQ(number_of("12ms"), std::nullopt);
  EXPECT_EQ(number_of(""), std::nullopt);
  EXPECT_EQ(number_of("nan"), std::nullopt);
}

TEST(ResultFiles, AreReadFromALog) {
  const auto files =
      parse_result_files("file 3 a b/c.txt\nYWJj\nfile 0 empty\nend\n", ResultsWanted::Contents);
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].path, "a b/c.txt");
  EXPECT_EQ((*files)[0].content, "abc");
  EXPECT_EQ((*files)[1].size, 0U);
  const auto listed = parse_result_files("file 3 x\nend\n", ResultsWanted::List);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->front().size, 3U);
}

TEST(ResultFiles, RefuseCutLogsAndOuterPaths) {
  for (const char* log :
       {"file 3 x\nYWJj\n", "file 4 x\nYWJj\nend\n", "file 3 ../x\nYWJj\nend\n",
        "file 3 /etc/x\nYWJj\nend\n", "oops\nend\n", "file 3 a/./b\nYWJj\nend\n"}) {
    EXPECT_FALSE(parse_result_files(log, ResultsWanted::Contents).ok()) << log;
  }
}

TEST(ResultFiles, NameTheFileThatIsTooLarge) {
  const auto files = parse_result_files("file 9 x\nlarge\nend\n", ResultsWanted::Contents);
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, 413);
  EXPECT_NE(files.error().message.find("x has 9 bytes"), std::string::npos);
}

// An API server with one claim whose pod goes through `phases`; it notes the requests.
struct FakeServer {
  std::vector<std::string> phases{};
  std::vector<std::string> requests{};
  Instant time{};

  ResultsAccess access() {
    return {.call = [this](const std::string& method, const std::string& path,
                           const Value&) -> Result<Value> {
              requests.push_back(method + " " + path);
              if (path.ends_with("/none")) {
                return Error::not_found("no claim");
              }
              const std::string phase = phases.empty() ? "Pending" : phases.front();
              if (method == "GET" && phases.size() > 1) {
                phases.erase(phases.begin());
              }
              return Value::object(
                  {{"metadata", Value::object({{"name", "reader"}, {"namespace", "ns"}})},
                   {"status", Value::object({{"phase", phase}})}});
            },
            .text = [](const std::string&) -> Result<std::string> {
              return std::string("file 3 x\nend\n");
            },
            .now = [this] { return time; },
            .pause = [this](Duration pause) { time += pause; }};
  }
};

TEST(ResultFiles, AreReadByAPodThatGoes) {
  FakeServer server{.phases = {"Pending", "Running", "Succeeded"}};
  const auto files = read_result_files(server.access(), {.ns = "ns", .job = "j", .claim = "c"},
                                       ResultsWanted::List, std::chrono::seconds(5));
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_TRUE(files->has_value());
  EXPECT_EQ((**files).front().path, "x");
  EXPECT_EQ(server.requests.back(),
            "DELETE /api/v1/namespaces/ns/pods/reader?gracePeriodSeconds=0");
}

TEST(ResultFiles, TellSlowAndFailedPods) {
  for (const auto& [phase, code] : {std::pair("Pending", 504), std::pair("Failed", 500)}) {
    FakeServer server{.phases = {phase}};
    const auto files = read_result_files(server.access(), {.ns = "ns", .job = "j", .claim = "c"},
                                         ResultsWanted::List, std::chrono::seconds(5));
    ASSERT_FALSE(files.ok()) << phase;
    EXPECT_EQ(files.error().code, code);
    EXPECT_TRUE(server.requests.back().starts_with("DELETE ")) << phase;
  }
}

TEST(ResultFiles, AskNothingForWrongNames) {
  FakeServer server;
  for (const char* job : {"..", "a/b", "", "../other", "A"}) {
    const auto files = read_result_files(server.access(), {.ns = "ns", .job = job, .claim = "c"},
                                         ResultsWanted::List, std::chrono::seconds(5));
    EXPECT_EQ(files.ok() ? 0 : files.error().code, 400) << job;
  }
  EXPECT_TRUE(server.requests.empty());
  const auto none = read_result_files(server.access(), {.ns = "ns", .job = "j", .claim = "none"},
                                      ResultsWanted::List, std::chrono::seconds(5));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(ResultFiles, HaveTypesByTheirNames) {
  EXPECT_EQ(result_type("a/b.PNG"), "image/png");
  EXPECT_EQ(result_type("b.json"), "application/json");
  EXPECT_EQ(result_type("x.csv"), "text/csv");
  EXPECT_EQ(result_type("index.html"), "text/plain");
  EXPECT_EQ(result_type("plain"), "text/plain");
}

}  // namespace
}  // namespace athanor::views::comparison_test
