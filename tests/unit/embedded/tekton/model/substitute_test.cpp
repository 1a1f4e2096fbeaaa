// SPDX-License-Identifier: Apache-2.0
// Variables of docs/spec/tekton.md 6.
#include "embedded/tekton/model/substitute.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::tekton::substitute_test {
namespace {

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

Replacements sample() {
  Replacements replacements;
  replacements.set_param("p", "value");
  replacements.set_param("dotted.name", "d");
  replacements.set_param("list", parsed(R"j(["a","b"])j"));
  replacements.set_param("map", parsed(R"j({"k":"v","k.l":"w"})j"));
  replacements.set_param("again", "$(params.p)");
  replacements.set("context.pipelineRun.name", "run");
  return replacements;
}

TEST(Substitute, KnowsEverySpelling) {
  const struct {
    std::string_view text, expected;
  } cases[] = {
      {"$(params.p)", "value"},
      {"$(params[\"p\"])", "value"},
      {"$(params['p'])", "value"},
      {"$(params['dotted.name'])", "d"},
      {"$(params.dotted.name)", "d"},
      {"$(params.list[1])", "b"},
      {"$(params['list'][0])", "a"},
      {"$(params.map.k)", "v"},
      {"$(params.map.k.l)", "w"},
      {"x-$(params.p)-$(context.pipelineRun.name)-y", "x-value-run-y"},
      {"$(echo $(params.p))", "$(echo value)"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(substitute(c.text, sample()), c.expected) << c.text;
  }
}

TEST(Substitute, LeavesUnknownVariables) {
  for (const std::string_view text :
       {"$(params.q)", "$(date)", "$params.p", "$(params.p", "$(params.list[2])",
        "x $(params.list[*]) y", "$(params.map)", "$(params.p[*])", "$(params.map.nope)", "$()"}) {
    EXPECT_EQ(substitute(text, sample()), text);
  }
}

TEST(Substitute, NeverRescansAReplacedValue) {
  EXPECT_EQ(substitute("$(params.again)", sample()), "$(params.p)");
}

TEST(SubstituteAll, ExpandsListsInArguments) {
  EXPECT_EQ(substitute_all(parsed(R"j(["x","$(params.list[*])","$(params.list)","-$(params.p)"])j"),
                           sample()),
            parsed(R"j(["x","a","b","a","b","-value"])j"));
}

TEST(SubstituteParam, BecomesTheWholeListOrObject) {
  EXPECT_EQ(substitute_param("$(params.list[*])", sample()), parsed(R"j(["a","b"])j"));
  EXPECT_EQ(substitute_param("$(params.map[*])", sample()), parsed(R"j({"k":"v","k.l":"w"})j"));
  EXPECT_EQ(substitute_param(parsed(R"j({"z":"$(params.p)"})j"), sample()),
            parsed(R"j({"z":"value"})j"));
}

TEST(SubstituteTaskSpec, TouchesTheFieldsThatTakeVariablesAlone) {
  const Value spec = parsed(R"j({
    "description":"$(params.p)",
    "steps":[{"name":"s","image":"i:$(params.p)","script":"echo $(params.p)",
              "env":[{"name":"E","value":"$(params.p)"}],
              "computeResources":{"limits":{"cpu":"$(params.p)"}}}],
    "volumes":[{"name":"v","secret":{"secretName":"$(params.p)"},"hostPath":{"path":"$(params.p)"}}],
    "workspaces":[{"name":"w","mountPath":"/$(params.p)"}]})j");
  EXPECT_EQ(substitute_task_spec(spec, sample()), parsed(R"j({
    "description":"$(params.p)",
    "steps":[{"name":"s","image":"i:value","script":"echo value",
              "env":[{"name":"E","value":"value"}],
              "computeResources":{"limits":{"cpu":"$(params.p)"}}}],
    "volumes":[{"name":"v","secret":{"secretName":"value"},"hostPath":{"path":"$(params.p)"}}],
    "workspaces":[{"name":"w","mountPath":"/value"}]})j"));
}

}  // namespace
}  // namespace athanor::tekton::substitute_test
