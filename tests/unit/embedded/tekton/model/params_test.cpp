// SPDX-License-Identifier: Apache-2.0
// Params against their declarations (docs/spec/tekton.md 6, 7.2).
#include "embedded/tekton/model/params.hpp"

#include <gtest/gtest.h>

#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/pipelinerun/when.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton::params_test {
namespace {

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

TEST(DeclaredType, IsInferredFromDefaultAndProperties) {
  EXPECT_EQ(declared_type(parsed(R"j({"name":"a"})j")), "string");
  EXPECT_EQ(declared_type(parsed(R"j({"default":["x"]})j")), "array");
  EXPECT_EQ(declared_type(parsed(R"j({"default":{"k":"v"}})j")), "object");
  EXPECT_EQ(declared_type(parsed(R"j({"properties":{}})j")), "object");
  EXPECT_EQ(declared_type(parsed(R"j({"type":"array","default":"x"})j")), "array");
}

TEST(TaskParamProblem, NamesTheFirstKindOfTrouble) {
  const Value specs = parsed(R"j([{"name":"a"},{"name":"b","type":"array","default":[]},
    {"name":"o","type":"object","properties":{"k":{},"j":{}},"default":{"k":"1"}}])j");
  EXPECT_EQ(task_param_problem(specs, Value::list()),
            "missing values for these params which have no default values: [a]");
  EXPECT_EQ(
      task_param_problem(specs, parsed(R"j([{"name":"a","value":"x"},{"name":"b","value":"x"}])j")),
      "param types don't match the user-specified type: [b]");
  EXPECT_EQ(
      task_param_problem(specs, parsed(R"j([{"name":"a","value":"x"}])j")),
      "missing keys for these params which are required in ParamSpec's properties map[o:[j]]");
  EXPECT_EQ(task_param_problem(
                specs, parsed(R"j([{"name":"a","value":"x"},{"name":"o","value":{"j":"2"}}])j")),
            "");
}

TEST(ParamValues, ResolvesDefaultsThatUseOtherParams) {
  const auto values = param_values(
      parsed(R"j([{"name":"a","default":"$(params.b)/a"},{"name":"b","default":"$(params.c)/b"},
                 {"name":"c"},{"name":"l","type":"array","default":["$(params.c)"]}])j"),
      parsed(R"j([{"name":"c","value":"x"},{"name":"extra","value":"e"}])j"));
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->at("a"), Value("x/b/a"));
  EXPECT_EQ(values->at("l"), parsed(R"j(["x"])j"));
  EXPECT_EQ(values->at("extra"), Value("e"));
}

TEST(ParamValues, LeavesAGivenValueAsItIs) {
  const auto values = param_values(parsed(R"j([{"name":"a"},{"name":"b","default":"1"}])j"),
                                   parsed(R"j([{"name":"a","value":"$(params.b)"}])j"));
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->at("a"), Value("$(params.b)"));
}

TEST(ParamValues, RefusesCyclesAndUnknownParams) {
  EXPECT_EQ(param_values(parsed(R"j([{"name":"a","default":"$(params.b)"},
                                    {"name":"b","default":"$(params.a)"}])j"),
                         {})
                .error()
                .message,
            "parameter resolution failed: circular dependency detected in param \"a\"");
  EXPECT_EQ(param_values(parsed(R"j([{"name":"a","default":"$(params.q)"}])j"), {}).error().message,
            "parameter resolution failed: param \"a\" references undefined param \"q\"");
}

// Each value is the one before it, twice.
TEST(ParamValues, RefusesDefaultsThatGrowWithoutEnd) {
  Value params = Value::list();
  for (int i = 10; i < 60; ++i) {
    const std::string before = "$(params.p" + std::to_string(i - 1) + ")";
    params.push_back(Value::object({{"name", "p" + std::to_string(i)},
                                    {"default", i == 10 ? std::string("xxxx") : before + before}}));
  }
  const auto values = param_values(params, {});
  ASSERT_FALSE(values.ok());
  EXPECT_TRUE(values.error().message.ends_with(" makes the values of variables larger than 16 MiB"))
      << values.error().message;
}

TEST(ParamValues, FillsMissingObjectKeysFromDefault) {
  const auto values = param_values(parsed(R"j([{"name":"o","default":{"k":"1","j":"2"}}])j"),
                                   parsed(R"j([{"name":"o","value":{"k":"9"}}])j"));
  EXPECT_EQ(values->at("o"), parsed(R"j({"k":"9","j":"2"})j"));
}

TEST(BadArrayIndexes, FindsThoseBeyondTheEnd) {
  const auto values = param_values({}, parsed(R"j([{"name":"l","value":["a"]}])j"));
  EXPECT_EQ(
      go_list(bad_array_indexes(
          parsed(R"j(["$(params.l[0])","x $(params.l[1])","$(params['l'][7])","$(params.l[*])"])j"),
          *values)),
      "[$(params.l[1]) $(params['l'][7])]");
}

TEST(When, HoldsWhenEveryExpressionDoes) {
  Replacements replacements;
  replacements.set_param("mode", "fast");
  replacements.set_param("modes", parsed(R"j(["fast","slow"])j"));
  const auto allows = [&](std::string_view text) {
    cel::Conditions conditions;
    return when_allows(resolved_when(parsed(text), replacements), conditions);
  };
  EXPECT_TRUE(allows("[]"));
  EXPECT_TRUE(
      allows(R"j([{"input":"$(params.mode)","operator":"in","values":["$(params.modes[*])"]}])j"));
  EXPECT_FALSE(allows(R"j([{"input":"$(params.mode)","operator":"notin","values":["fast"]}])j"));
  EXPECT_FALSE(allows(
      R"j([{"input":"a","operator":"in","values":["a"]},{"input":"a","operator":"in","values":["b"]}])j"));
  EXPECT_TRUE(allows(R"j([{"input":"a","operator":"notin","values":["b"]}])j"));
}

}  // namespace
}  // namespace athanor::tekton::params_test
