// SPDX-License-Identifier: Apache-2.0
// The graph of a pipeline (docs/spec/tekton.md 7.3, 5.2).
#include "embedded/tekton/model/graph.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::tekton::graph_test {
namespace {

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

TEST(ParseResultRef, ReadsEverySpelling) {
  for (const std::string_view text :
       {"tasks.a.results.r", "tasks.a.results.r[0]", "tasks.a.results.r[*]",
        "tasks.a.results.r.key", "tasks.a.results['r']", "tasks.a.results[\"r\"][1]"}) {
    const auto ref = parse_result_ref(text);
    ASSERT_TRUE(ref) << text;
    EXPECT_EQ(ref->task, "a");
    EXPECT_EQ(ref->result, "r");
    EXPECT_EQ(ref->variable, text);
  }
  EXPECT_TRUE(parse_result_ref("finally.f.results.r", "finally"));
}

TEST(ParseResultRef, RefusesEverythingElse) {
  for (const std::string_view text :
       {"params.a", "tasks.a.status", "tasks.status", "tasks..results.r", "tasks.a.results",
        "tasks.a.results.", "finally.f.results.r"}) {
    EXPECT_FALSE(parse_result_ref(text)) << text;
  }
}

TEST(Graph, OrdersByRunAfterAndResults) {
  const auto graph = Graph::make(parsed(R"j([
    {"name":"c","params":[{"name":"x","value":"$(tasks.b.results.r)"}]},
    {"name":"b","runAfter":["a"]},
    {"name":"a"},
    {"name":"d","when":[{"input":"$(tasks.a.results.r)","operator":"in","values":["x"]}],
     "workspaces":[{"name":"w","subPath":"$(tasks.c.results.p)"}]}])j"));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->parents(0), (std::vector<std::size_t>{1}));
  EXPECT_EQ(graph->parents(1), (std::vector<std::size_t>{2}));
  EXPECT_EQ(graph->parents(3), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(graph->order(), (std::vector<std::size_t>{2, 1, 0, 3}));
}

TEST(Graph, OrdersByResultsPropagatedIntoInlineTasks) {
  const auto graph = Graph::make(parsed(R"j([
    {"name":"script","taskSpec":{"steps":[{"name":"s","script":"echo $(tasks.a.results.r)"}]}},
    {"name":"sidecar","taskSpec":{"sidecars":[{"name":"s","args":["$(tasks.script.results.r)"]}]}},
    {"name":"a","taskSpec":{"steps":[{"name":"s","script":"true"}]}}])j"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->order(), (std::vector<std::size_t>{2, 0, 1}));
}

TEST(Graph, WaitsForLengthsThatResultsDecide) {
  const auto graph = Graph::make(parsed(R"j([
    {"name":"plain","params":[{"name":"x","value":"$(tasks.fixed.matrix.length)"}]},
    {"name":"late","params":[{"name":"x","value":"$(tasks.open.matrix.length)"}]},
    {"name":"out","displayName":"$(tasks.fixed.matrix.out.length) of them"},
    {"name":"fixed","matrix":{"params":[{"name":"p","value":["a"]}]}},
    {"name":"open","matrix":{"params":[{"name":"p","value":"$(tasks.a.results.r[*])"}]}},
    {"name":"a"}])j"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(graph->parents(0).empty());
  EXPECT_EQ(graph->parents(1), (std::vector<std::size_t>{4}));
  EXPECT_EQ(graph->parents(2), (std::vector<std::size_t>{3}));
}

TEST(Graph, RefusesCyclesAndUnknownTasks) {
  const struct {
    std::string_view tasks, message;
  } cases[] = {
      {R"j([{"name":"a","runAfter":["b"]},{"name":"b","runAfter":["a"]},{"name":"c"}])j",
       "cycle detected; task \"a\" depends on \"b\""},
      {R"j([{"name":"a","runAfter":["a"]}])j", "cycle detected; task \"a\" depends on \"a\""},
      {R"j([{"name":"z","runAfter":["y","x"]},{"name":"y","runAfter":["z"]},{"name":"x","runAfter":["y"]}])j",
       "cycle detected; task \"x\" depends on \"y\""},
      {R"j([{"name":"a","runAfter":["q"]}])j",
       "couldn't add link between a and q: task a depends on q but q wasn't present in Pipeline"},
  };
  for (const auto& c : cases) {
    const auto graph = Graph::make(parsed(c.tasks));
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().message, c.message);
  }
}

}  // namespace
}  // namespace athanor::tekton::graph_test
