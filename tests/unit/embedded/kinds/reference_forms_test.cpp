// SPDX-License-Identifier: Apache-2.0
// What the reference makes of odd but allowed writes (docs/testing.md).
#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::reference_forms_test {
namespace {

constexpr std::string_view kDaemonSets = "/apis/apps/v1/namespaces/tst/daemonsets";
constexpr std::string_view kServices = "/api/v1/namespaces/tst/services";
constexpr std::string_view kPods = "/api/v1/namespaces/tst/pods";
constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

std::string at(std::string_view path, std::string_view rest) {
  return std::string(path) + std::string(rest);
}

const Value& fields_of(const Value& object, std::string_view manager) {
  static const Value kNone;
  for (const Value& entry : object["metadata"]["managedFields"].items()) {
    if (entry["manager"].as_string() == manager) {
      return entry["fieldsV1"];
    }
  }
  return kNone;
}

TEST(OddWrites, CountTemplateGenerationOnServer) {
  TestServer server;
  constexpr std::string_view kAnnotation = "deprecated.daemonset.template.generation";
  server.post(at(kDaemonSets, "?fieldManager=one"), parse(R"({"metadata":{"name":"d"},"spec":{
    "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
    "spec":{"containers":[{"name":"c","image":"x"}]}}}})"));
  const Answer changed =
      server.patch(at(kDaemonSets, "/d?fieldManager=two"), "strategic-merge",
                   R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"y"}]}}}})");
  EXPECT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(changed.value["metadata"]["annotations"][kAnnotation], Value("2"));
  EXPECT_TRUE(fields_of(changed.value, "two")["f:metadata"].is_null()) << changed.text;
  const Answer labelled =
      server.patch(at(kDaemonSets, "/d"), "merge", R"({"metadata":{"labels":{"x":"y"}}})");
  EXPECT_EQ(labelled.value["metadata"]["annotations"][kAnnotation], Value("2"));
}

TEST(OddWrites, KeepOmittedAddressWithoutOwner) {
  TestServer server;
  const Answer made = server.post(
      at(kServices, "?fieldManager=one"),
      parse(R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None","ports":[{"port":1}]}})"));
  EXPECT_EQ(made.value["spec"]["ipFamilyPolicy"], Value("RequireDualStack")) << made.text;
  const Answer answer =
      server.put(at(kServices, "/s?fieldManager=two"),
                 parse(R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}})"));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.value["spec"]["clusterIP"], Value("None"));
  EXPECT_FALSE(fields_of(answer.value, "one")["f:spec"].contains("f:clusterIP")) << answer.text;
}

TEST(OddWrites, APatchLeavesTheName) {
  TestServer server;
  server.post(kMaps, config_map("a"));
  const Answer answer = server.patch(at(kMaps, "/a"), "merge", R"({"metadata":null})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.message(),
            "the name of the object (a based on URL) was undeterminable: name must be provided");
}

TEST(OddWrites, AppliedNumbersAreCutToTheirFields) {
  TestServer server;
  const Answer answer = server.patch(at(kPods, "/p?fieldManager=m"), "apply", R"({"kind":"Pod",
    "apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x",
    "readinessProbe":{"tcpSocket":{"port":1},"periodSeconds":1099511627776}}]}})");
  EXPECT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.value["spec"]["containers"][0]["readinessProbe"]["periodSeconds"], Value(10));
}

TEST(OddWrites, ANegativeGracePeriodIsTheShortest) {
  TestServer server;
  const Answer answer = server.post(kPods, parse(R"({"metadata":{"name":"p"},"spec":{
    "terminationGracePeriodSeconds":-1,"containers":[{"name":"c","image":"x"}]}})"));
  EXPECT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.value["spec"]["terminationGracePeriodSeconds"], Value(1));
}

TEST(OddWrites, ALimitRangeNeedsNoName) {
  TestServer server;
  const Answer answer = server.post("/api/v1/namespaces/tst/limitranges",
                                    parse(R"({"metadata":{},"spec":{"limits":[]}})"));
  EXPECT_EQ(answer.status, 201) << answer.text;
  const std::string name = answer.value["metadata"]["name"].str();
  EXPECT_EQ(name.size(), 36U);
  EXPECT_EQ(server.get("/api/v1/namespaces/tst/limitranges/" + name).status, 200);
}

TEST(OddWrites, DefaultAllocatableOfNodeToItsCapacity) {
  TestServer server;
  server.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n"}})"));
  const Answer answer =
      server.patch("/api/v1/nodes/n/status", "merge", R"({"status":{"capacity":{"cpu":"4"}}})");
  EXPECT_EQ(answer.value["status"]["allocatable"], parse(R"({"cpu":"4"})")) << answer.text;
}

TEST(OddWrites, RefuseAppliedNullOfCustomObject) {
  TestServer server;
  server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", parse(R"({
    "metadata":{"name":"widgets.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",
    "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,
    "storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{
    "type":"object","properties":{"size":{"type":"integer","default":3},
    "color":{"type":"string"},"maybe":{"type":"string","nullable":true}}}}}}}]}})"));
  const auto apply = [&](const std::string& spec) {
    return server.patch("/apis/ex.com/v1/namespaces/tst/widgets/w?fieldManager=m", "apply",
                        R"({"kind":"Widget","apiVersion":"ex.com/v1","metadata":{"name":"w"},)"
                        R"("spec":)" +
                            spec + "}");
  };
  const Answer refused = apply(R"({"color":null})");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(refused.message(),
              ::testing::HasSubstr("spec.color in body must be of type string: \"null\""));
  const Answer made = apply(R"({"size":null,"maybe":null})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["spec"]["size"], Value(3));
  // A write of another sort drops it.
  EXPECT_EQ(server
                .patch("/apis/ex.com/v1/namespaces/tst/widgets/w", "json",
                       R"([{"op":"add","path":"/spec/color","value":null}])")
                .status,
            200);
}

}  // namespace
}  // namespace athanor::apiserver::reference_forms_test
