// SPDX-License-Identifier: Apache-2.0
// The JSON of docs/spec/das.md 7.2.
#include "extender/wire.hpp"

#include <gtest/gtest.h>

#include <string>

#include "api/scheduler_configuration.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::extender::wire_test {
namespace {

Value read(const std::string& text) {
  return json::parse(text).value();
}

const std::string kPod =
    R"({"metadata":{"name":"p","namespace":"ns","uid":"u1"},"spec":{"containers":[]}})";

TEST(Wire, ReadsNodeNamesWithKeysOfAnyCase) {
  for (const std::string names : {"NodeNames", "nodenames", "nodeNames"}) {
    const auto question = read_nodes_question(
        read(R"({"Pod":)" + kPod + R"(,"Nodes":null,")" + names + R"(":["n1","n2"]})"));
    ASSERT_TRUE(question.ok()) << question.error().message;
    EXPECT_EQ(question->names, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_FALSE(question->whole);
    EXPECT_EQ(question->pod.uid(), "u1");
  }
}

TEST(Wire, AnswersInTheFormOfTheQuestion) {
  const FilterAnswer answer{
      .passed = {"n1"}, .failed = {{"n2", "no GPU available"}}, .unresolvable = {{"n3", "x"}}};
  const auto names =
      read_nodes_question(read(R"({"Pod":)" + kPod + R"(,"NodeNames":["n1","n2","n3"]})"));
  EXPECT_EQ(json::print(to_value(answer, *names)),
            R"({"Nodes":null,"NodeNames":["n1"],"FailedNodes":{"n2":"no GPU available"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"x"},"Error":""})");
  const auto whole = read_nodes_question(
      read(R"({"Pod":)" + kPod +
           R"(,"Nodes":{"items":[{"metadata":{"name":"n1","labels":{"a":"b"}}},)"
           R"({"metadata":{"name":"n2"}}]},"NodeNames":null})"));
  ASSERT_TRUE(whole.ok());
  const Value nodes = to_value(answer, *whole);
  EXPECT_TRUE(nodes["NodeNames"].is_null());
  ASSERT_EQ(nodes["Nodes"]["items"].size(), 1U);
  EXPECT_EQ(nodes["Nodes"]["items"][0]["metadata"]["labels"]["a"].as_string(), "b");
}

TEST(Wire, PrintsNoNodesAsEmptyList) {
  const auto question = read_nodes_question(read(R"({"Pod":)" + kPod + R"(,"NodeNames":[]})"));
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(json::print(to_value(FilterAnswer{}, *question)["NodeNames"]), "[]");
}

TEST(Wire, RefusesMalformedQuestionsWithAMessage) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "the body must be a JSON object"},
      {"null", "the body must be a JSON object"},
      {"{}", "Pod must be an object"},
      {R"({"Pod":{}})", "Pod must have metadata.name, metadata.namespace and metadata.uid"},
      {R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}}})",
       "Pod.spec must be an object"},
      {R"({"Pod":)" + kPod + "}", "NodeNames or Nodes must be given"},
      {R"({"Pod":)" + kPod + R"(,"NodeNames":"n1"})", "NodeNames must be a list of texts"},
      {R"({"Pod":)" + kPod + R"(,"NodeNames":[1]})", "NodeNames must be a list of texts"},
      {R"({"Pod":)" + kPod + R"(,"Nodes":[]})", "Nodes must be a NodeList"},
      {R"({"Pod":)" + kPod + R"(,"Nodes":{"items":[{}]}})",
       "Nodes.items must be nodes with a name"},
  };
  for (const auto& [text, message] : cases) {
    const auto question = read_nodes_question(read(text));
    ASSERT_FALSE(question.ok()) << text;
    EXPECT_EQ(question.error().code, 400);
    EXPECT_EQ(question.error().message, message) << text;
  }
  EXPECT_EQ(
      read_bind_question(read(R"({"PodName":"p","PodNamespace":"n","Node":"x"})")).error().message,
      "PodUID must be a text that is not empty");
  EXPECT_EQ(read_preempt_question(
                read(R"({"Pod":)" + kPod + R"(,"NodeNameToMetaVictims":{"n":{"Pods":[{}]}}})"))
                .error()
                .message,
            "the victims of node n must have a UID each");
}

TEST(Wire, ReadsVictimsOfBothKinds) {
  const auto meta = read_preempt_question(
      read(R"({"Pod":)" + kPod +
           R"(,"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"a"}],"NumPDBViolations":2}}})"));
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->nodes.at("n").uids, std::vector<std::string>{"a"});
  EXPECT_EQ(json::print(preempt_answer(meta->nodes)),
            R"({"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"a"}],"NumPDBViolations":2}}})");
  const auto whole = read_preempt_question(read(
      R"({"Pod":)" + kPod + R"(,"NodeNameToVictims":{"n":{"Pods":[{"metadata":{"uid":"b"}}]}}})"));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->nodes.at("n").uids, std::vector<std::string>{"b"});
}

TEST(Wire, PrintsPointsAndBindings) {
  EXPECT_EQ(json::print(to_value(Points{{"n1", 7}})), R"([{"Host":"n1","Score":7}])");
  EXPECT_EQ(json::print(bind_answer("")), R"({"Error":""})");
}

// docs/spec/das.md 7.1.
TEST(Configuration, MatchesFormatOfTheScheduler) {
  const Value config = scheduler_configuration({.url = "https://x.das-operator.svc:9443",
                                                .ca_file = "/etc/ca.crt",
                                                .profiles = {"das-scheduler"},
                                                .resources = {"mig.das.com/1g.5gb"}});
  EXPECT_EQ(yaml::print(config),
            yaml::print(yaml::parse("apiVersion: kubescheduler.config.k8s.io/v1\n"
                                    "kind: KubeSchedulerConfiguration\n"
                                    "leaderElection:\n"
                                    "  leaderElect: true\n"
                                    "  resourceName: das-scheduler\n"
                                    "  resourceNamespace: das-operator\n"
                                    "profiles:\n"
                                    "- schedulerName: das-scheduler\n"
                                    "extenders:\n"
                                    "- urlPrefix: https://x.das-operator.svc:9443/scheduler\n"
                                    "  filterVerb: filter\n"
                                    "  prioritizeVerb: prioritize\n"
                                    "  bindVerb: bind\n"
                                    "  preemptVerb: preempt\n"
                                    "  weight: 1\n"
                                    "  enableHTTPS: true\n"
                                    "  httpTimeout: 5s\n"
                                    "  nodeCacheCapable: true\n"
                                    "  ignorable: false\n"
                                    "  tlsConfig:\n"
                                    "    caFile: /etc/ca.crt\n"
                                    "  managedResources:\n"
                                    "  - name: mig.das.com/1g.5gb\n"
                                    "    ignoredByScheduler: false\n")
                            .value()));
  EXPECT_FALSE(
      scheduler_configuration({.url = "http://h:1"})["extenders"][0].contains("tlsConfig"));
}

}  // namespace
}  // namespace athanor::extender::wire_test
