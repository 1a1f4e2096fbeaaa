// SPDX-License-Identifier: Apache-2.0
// Results of earlier steps in later ones, and guards (docs/spec/tekton.md 6, 10.2).
#include "embedded/nodes/steps/step_results.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::step_results_test {
namespace {

StepResults results() {
  StepResults results;
  results.add(
      "step-a",
      R"([{"key":"text","value":"x y","type":4},{"key":"list","value":"[\"p\",\"q\"]","type":4},
    {"key":"map","value":"{\"k\":\"v\"}","type":4},{"key":"both","value":"own","type":4},
    {"key":"both","value":"task","type":1},{"key":"ExitCode","value":"3","type":3}])");
  results.add("sidecar-b", R"([{"key":"no","value":"1","type":4}])");
  results.add("step-c", "no results at all");
  return results;
}

TEST(StepResults, ArtifactsReachScripts) {
  StepResults known = results();
  known.add("step-d", R"([{"key":"/f","type":5,"value":"{\"outputs\":[{\"name\":\"image\",)"
                      R"(\"values\":[{\"uri\":\"pkg:a\"}]}]}"},)"
                      R"({"key":"/g","type":6,"value":"{}"}])");
  const Result<Value> whole = known.substituted(
      yaml::parse("{command: [c], env: [[A, $(steps.d.outputs.image)]], script: 'use "
                  "$(steps.d.outputs.image) $(steps.d.inputs.x) $(steps.a.results.text)'}")
          .value());
  const Value& done = whole.value();
  EXPECT_EQ(done["env"][0][1], Value(R"([{"uri":"pkg:a"}])"));
  EXPECT_EQ(done["script"],
            Value(R"(use [{"uri":"pkg:a"}] $(steps.d.inputs.x) $(steps.a.results.text))"));
}

TEST(StepResults, TakeThePlaceOfTheirVariables) {
  const StepResults known = results();
  EXPECT_EQ(known.substitute("<$(steps.a.results.text)> $(steps.a.results.list[1])").value(),
            "<x y> q");
  EXPECT_EQ(known.substitute("$(steps.a.results.map.k) $(steps.a.results.both)").value(), "v own");
  for (const char* left : {"$(steps.a.results.none)", "$(steps.a.results.list[2])", "$(steps.a",
                           "$(params.x)", "$(steps.a.results.ExitCode)"}) {
    EXPECT_EQ(known.substitute(left).value(), left);
  }
  const Value container = yaml::parse(
                              "{command: [run, '$(steps.a.results.list[*])'], env: [[A, "
                              "'=$(steps.a.results.text)']]}")
                              .value();
  const Value done = known.substituted(container).value();
  EXPECT_EQ(json::print(done["command"]), R"(["run","p","q"])");
  EXPECT_EQ(json::print(done["env"]), R"([["A","=x y"]])");
}

TEST(StepResults, GuardsCompareThem) {
  const StepResults known = results();
  const auto allow = [&](const std::string& when) {
    return known.allow(yaml::parse(when).value()).value();
  };
  EXPECT_TRUE(allow("[]"));
  EXPECT_TRUE(allow("[{input: a, operator: in, values: [b, a]}]"));
  EXPECT_FALSE(allow("[{input: a, operator: in, values: [b]}]"));
  EXPECT_FALSE(allow("[{input: a, operator: notin, values: [a]}]"));
  EXPECT_TRUE(allow("[{input: '$(steps.a.results.text)', operator: in, values: ['x y']}]"));
  EXPECT_TRUE(allow("[{input: q, operator: in, values: ['$(steps.a.results.list[*])']}]"));
  EXPECT_FALSE(
      allow("[{input: a, operator: in, values: [a]}, {input: a, operator: in, values: [b]}]"));
}

TEST(StepResults, GuardsInCelHaveThem) {
  const StepResults known = results();
  const auto allow = [&](const std::string& expression) {
    return known.allow(Value::list({Value::object({{"cel", expression}})}));
  };
  EXPECT_TRUE(allow("'$(steps.a.results.text)' == 'x y'").value());
  EXPECT_FALSE(allow("'$(steps.a.results.text)'.startsWith('y')").value());
  EXPECT_EQ(allow("size('$(steps.a.results.text)')").error().message,
            "CEL expression size('x y'): is not evaluated to a boolean");
  EXPECT_TRUE(allow("nothing == 1").error().message.starts_with("CEL expression nothing == 1: "));
  EXPECT_FALSE(
      known.allow(yaml::parse("[{cel: 'true'}, {input: a, operator: in, values: [b]}]").value())
          .value());
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

TEST(StepResults, RefuseTextsThatGrowTooLarge) {
  const std::string large((1 << 20) - 1, 'x');
  StepResults known;
  known.add(
      "step-a",
      json::print(Value::list({Value::object({{"key", "big"}, {"value", large}, {"type", 4}})})));
  known.add("step-b", json::print(Value::list({Value::object(
                          {{"key", "/f"},
                           {"type", 5},
                           {"value", R"({"outputs":[{"name":"image","values":[{"uri":")" + large +
                                         R"("}]}]})"}})})));
  known.add("step-c", json::print(Value::list({Value::object(
                          {{"key", "list"}, {"value", "[\"" + large + "\"]"}, {"type", 4}})})));
  constexpr const char* kBig = "$(steps.a.results.big)";
  EXPECT_EQ(known.substitute(repeated(kBig, 4)).value().size(), 4 * large.size());
  const auto error_of = [&](const Value& container) {
    const auto done = known.substituted(container);
    return done ? std::string("none") : done.error().message;
  };
  const std::string end = " makes the texts of the step larger than 4 MiB";
  EXPECT_EQ(error_of(Value::object({{"command", Value::list({repeated(kBig, 5)})}})), kBig + end);
  EXPECT_EQ(error_of(Value::object({{"script", repeated("$(steps.b.outputs.image)", 4)}})),
            "$(steps.b.outputs.image)" + end);
  const Value env = Value::list({"A", repeated(kBig, 3)});
  EXPECT_EQ(error_of(Value::object({{"env", Value::list({env})}})), "none");
  EXPECT_EQ(error_of(Value::object({{"env", Value::list({env, env})}})), kBig + end);
  Value words = Value::list();
  for (int i = 0; i < 5; ++i) {
    words.push_back("$(steps.c.results.list[*])");
  }
  EXPECT_EQ(error_of(Value::object({{"command", words}})), "$(steps.c.results.list[*])" + end);
  const auto allowed = known.allow(Value::list({Value::object(
      {{"input", repeated(kBig, 5)}, {"operator", "in"}, {"values", Value::list({"x"})}})}));
  EXPECT_EQ(allowed ? "none" : allowed.error().message, kBig + end);
}

}  // namespace
}  // namespace athanor::nodes::step_results_test
