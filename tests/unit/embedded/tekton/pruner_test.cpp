// SPDX-License-Identifier: Apache-2.0
// Pruning of runs that ended (docs/tekton.md, Pruning).
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/prune_rules.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::tekton::pruner_test {
namespace {

class Pruner : public testing::Test {
 protected:
  void namespace_with(const std::string& annotations) {
    put("{apiVersion: v1, kind: Namespace, metadata: {name: ns, annotations: {" + annotations +
        "}}}");
    settle();
  }
  void put(const std::string& text) { world.put(yaml::parse(text).value()); }
  // A run that ended `minutes` ago, or that goes on.
  void run(const std::string& kind, const std::string& name, int minutes,
           const std::string& more = "") {
    const bool done = minutes >= 0;
    const std::string at = format_time(world.now - std::chrono::minutes(done ? minutes : 0));
    put("{apiVersion: tekton.dev/v1, kind: " + kind + ", metadata: {name: " + name +
        ", namespace: ns" + more + "}, status: {startTime: '" + at +
        "', conditions: [{type: " + "Succeeded, status: " + (done ? "'True'" : "Unknown") + "}]" +
        (done ? ", completionTime: '" + at + "'" : "") + "}}");
  }
  void settle() { world.settle({&pruner_operator()}); }
  void pass(Duration duration) { world.settle_for({&pruner_operator()}, duration); }
  [[nodiscard]] std::string left(const Kind& kind) const {
    std::string names;
    for (const Object& one : world.list(kind)) {
      names += (names.empty() ? "" : " ") + std::string(one.name());
    }
    return names;
  }
  test::FakeWorld world{};
};

constexpr const char* kEveryMinute = "operator.tekton.dev/prune.schedule: '* * * * *'";

std::string with(const std::string& more) {
  return std::string(kEveryMinute) + ", operator.tekton.dev/prune." + more;
}

TEST_F(Pruner, KeepsTheNewestEndedRuns) {
  namespace_with(with("keep: '2'"));
  for (int i = 1; i <= 4; ++i) {
    run("PipelineRun", "r" + std::to_string(i), 10 * i);
  }
  run("PipelineRun", "running", -1);
  run("TaskRun", "alone", 1000);
  settle();
  EXPECT_EQ(world.count(api::kPipelineRun), 5U) << "before the schedule's time";
  pass(std::chrono::minutes(1));
  EXPECT_EQ(left(api::kPipelineRun), "r1 r2 running");
  EXPECT_EQ(left(api::kTaskRun), "alone");
}

TEST_F(Pruner, KeepsYoungRuns) {
  namespace_with(
      with("keep-since: '15', operator.tekton.dev/prune.resources: "
           "'taskrun,pipelinerun'"));
  run("PipelineRun", "old", 20);
  run("PipelineRun", "young", 5);
  run("TaskRun", "old", 20);
  run("PipelineRun", "whole", -1);
  const Object whole = world.must(api::kPipelineRun, {"ns", "whole"});
  run("TaskRun", "part", 30,
      ", ownerReferences: [{apiVersion: tekton.dev/v1, kind: PipelineRun, name: whole, controller: "
      "true, uid: " +
          std::string(whole.uid()) + "}]");
  pass(std::chrono::minutes(1));
  EXPECT_EQ(left(api::kPipelineRun), "whole young");
  EXPECT_EQ(left(api::kTaskRun), "part");
}

TEST_F(Pruner, CountsEachPipelineWhereAsked) {
  namespace_with(with("keep: '1', operator.tekton.dev/prune.prune-per-resource: 'true'"));
  run("PipelineRun", "a1", 10, ", labels: {tekton.dev/pipeline: a}");
  run("PipelineRun", "a2", 20, ", labels: {tekton.dev/pipeline: a}");
  run("PipelineRun", "b1", 30, ", labels: {tekton.dev/pipeline: b}");
  pass(std::chrono::minutes(1));
  EXPECT_EQ(left(api::kPipelineRun), "a1 b1");
}

TEST_F(Pruner, SkipsWhereAsked) {
  put("{apiVersion: v1, kind: ConfigMap, metadata: {name: config-pruner, namespace: "
      "tekton-pipelines}, data: {schedule: '* * * * *', keep: '1'}}");
  namespace_with("operator.tekton.dev/prune.skip: 'true'");
  run("PipelineRun", "a", 10);
  run("PipelineRun", "b", 20);
  pass(std::chrono::minutes(2));
  EXPECT_EQ(world.count(api::kPipelineRun), 2U);
  namespace_with("");
  pass(std::chrono::minutes(2));
  EXPECT_EQ(left(api::kPipelineRun), "a");
}

TEST_F(Pruner, DeletesThousandsInParts) {
  namespace_with(with("keep: '1'"));
  for (int i = 0; i < 1100; ++i) {
    run("PipelineRun", "r" + std::to_string(i), i + 1);
  }
  pass(std::chrono::minutes(1));
  EXPECT_EQ(left(api::kPipelineRun), "r0");
}

TEST_F(Pruner, NamesWrongAnnotations) {
  namespace_with(with("keep: many"));
  EXPECT_GE(world.event_count("PruneAnnotationIgnored", "ns"), 1);
}

TEST(PruneRules, FollowStrategyAndDefaults) {
  struct Row {
    const char* annotations;
    const char* config;
    const char* expected;  // "keep N", "since N", or empty: no rules
  };
  const Row rows[] = {
      {"", "{}", ""},
      {"", "{keep: '5'}", ""},
      {"", "{schedule: '@daily', keep: '5'}", "keep 5"},
      {"", "{schedule: '@daily', keep-since: '5'}", "since 5"},
      {"", "{schedule: '@daily'}", "keep 100"},
      {"operator.tekton.dev/prune.keep: '3'", "{}", "keep 3"},
      {"operator.tekton.dev/prune.keep-since: '3'", "{keep: '5'}", "since 3"},
      {"operator.tekton.dev/prune.keep: '3', operator.tekton.dev/prune.keep-since: '4', "
       "operator.tekton.dev/prune.strategy: keep-since",
       "{}", "since 4"},
      {"operator.tekton.dev/prune.strategy: keep", "{schedule: '@daily', keep: '9'}", "keep 9"},
      {"operator.tekton.dev/prune.skip: 'true', operator.tekton.dev/prune.keep: '3'", "{}", ""},
  };
  for (const Row& row : rows) {
    const Object ns(yaml::parse("{kind: Namespace, metadata: {name: a, annotations: {" +
                                std::string(row.annotations) + "}}}")
                        .value());
    const auto rules = prune_rules(ns, yaml::parse(row.config).value()).rules;
    std::string text;
    if (rules && rules->keep) {
      text = "keep " + std::to_string(*rules->keep);
    } else if (rules && rules->keep_since) {
      text = "since " + std::to_string(*rules->keep_since / std::chrono::minutes(1));
    }
    EXPECT_EQ(text, row.expected) << row.annotations << " " << row.config;
  }
}

}  // namespace
}  // namespace athanor::tekton::pruner_test
