// SPDX-License-Identifier: Apache-2.0
// What the differential test (tests/real) found the reference to do, each told once.
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::reference_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";
constexpr std::string_view kPods = "/api/v1/namespaces/tst/pods";
constexpr std::string_view kJobs = "/apis/batch/v1/namespaces/tst/jobs";
constexpr std::string_view kDeployments = "/apis/apps/v1/namespaces/tst/deployments";

std::string under(std::string_view root, std::string_view name) {
  return std::string(root) + "/" + std::string(name);
}

Value parse(std::string_view text) {
  return *json::parse(text);
}

Value pod(std::string_view spec = R"({"containers":[{"name":"c","image":"i"}]})") {
  Value object = parse(R"({"metadata":{"name":"p"}})");
  object.set("spec", parse(spec));
  object.member("spec").set("automountServiceAccountToken", false);
  return object;
}

Value deployment(std::string_view spec = R"({"containers":[{"name":"c","image":"i"}]})") {
  Value object = parse(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
                       R"("template":{"metadata":{"labels":{"a":"b"}}}}})");
  object.set_path({"spec", "template", "spec"}, parse(spec));
  return object;
}

Value job() {
  return parse(R"({"metadata":{"name":"j"},"spec":{"template":{"metadata":{"labels":{"x":"y"}},)"
               R"("spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
}

void make_account(TestServer& server) {
  server.post("/api/v1/namespaces/tst/serviceaccounts",
              parse(R"({"metadata":{"name":"default"}})"));
}

const Value& fields(const Answer& answer, std::size_t entry = 0) {
  return answer.value["metadata"]["managedFields"][entry]["fieldsV1"];
}

TEST(Reference, CountsAnnotationsOfDeploymentsAsGenerations) {
  TestServer server;
  server.post(kDeployments, deployment());
  const std::string path = under(kDeployments, "d");
  const auto generation = [](const Answer& answer) {
    return answer.value["metadata"]["generation"].as_int();
  };
  EXPECT_EQ(generation(server.patch(path, "merge", R"({"metadata":{"annotations":{"n":"1"}}})")),
            2);
  EXPECT_EQ(generation(server.patch(path, "merge", R"({"metadata":{"labels":{"n":"1"}}})")), 2);
}

TEST(Reference, KeepsTheGenerationOfKindsWithoutOne) {
  TestServer server;
  server.post(kMaps, parse(R"({"metadata":{"name":"s"}})"));
  const Answer answer = server.patch(under(kMaps, "s"), "merge",
                                     R"({"metadata":{"generation":77},"data":{"a":"1"}})");
  EXPECT_FALSE(answer.value["metadata"].contains("generation"));
}

TEST(Reference, OrphansPodsOfJobsByDefault) {
  TestServer server;
  server.post(kJobs, job());
  const Answer answer = server.remove(under(kJobs, "j"));
  EXPECT_EQ(answer.value["metadata"]["finalizers"], parse(R"(["orphan"])")) << answer.text;
  ASSERT_EQ(answer.warnings().size(), 1U);
  EXPECT_THAT(answer.warnings().front(), HasSubstr("child pods are preserved by default"));
  const Answer again = server.post(kJobs, job());
  EXPECT_EQ(again.message(), R"(object is being deleted: jobs.batch "j" already exists)");
}

TEST(Reference, DeletesAJobAtOnceInTheBackground) {
  TestServer server;
  server.post(kJobs, job());
  const Answer answer = server.remove(under(kJobs, "j") + "?propagationPolicy=Background");
  EXPECT_FALSE(answer.value["metadata"].contains("deletionTimestamp"));
  EXPECT_THAT(answer.warnings(), IsEmpty());
  EXPECT_EQ(server.get(under(kJobs, "j")).status, 404);
}

TEST(Reference, ShowsEndOfPodBeforeRemoval) {
  TestServer server;
  make_account(server);
  const Answer made = server.post(kPods, pod());
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string version = made.value["metadata"]["resourceVersion"].str();
  const Answer gone = server.remove(under(kPods, "p"));
  EXPECT_EQ(gone.value["metadata"]["deletionGracePeriodSeconds"].as_int(7), 0);
  EXPECT_EQ(gone.value["metadata"]["generation"].as_int(), 2);
  Answer watch = server.get(std::string(kPods) + "?watch=1&resourceVersion=" + version);
  const std::vector<Value> events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["type"].as_string(), "MODIFIED");
  EXPECT_TRUE(events[0]["object"]["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(events[1]["type"].as_string(), "DELETED");
  EXPECT_EQ(events[1]["object"]["metadata"]["resourceVersion"],
            gone.value["metadata"]["resourceVersion"]);
}

TEST(Reference, LeavesServerChosenFieldsUnowned) {
  TestServer server;
  const Answer service =
      server.post("/api/v1/namespaces/tst/services",
                  parse(R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})"));
  EXPECT_TRUE(service.value["spec"].contains("ipFamilies"));
  EXPECT_FALSE(fields(service)["f:spec"].contains("f:ipFamilies"));
  EXPECT_TRUE(fields(service)["f:spec"].contains("f:internalTrafficPolicy"));
  const Answer made = server.post(kJobs, job());
  EXPECT_FALSE(fields(made)["f:spec"].contains("f:selector"));
  EXPECT_EQ(fields(made)["f:metadata"], parse(R"({"f:labels":{".":{},"f:x":{}}})"));
  EXPECT_EQ(made.value["metadata"]["labels"].size(), 5U) << "the template's, with the job's own";
  const Answer ns = server.post("/api/v1/namespaces", parse(R"({"metadata":{"name":"n"}})"));
  EXPECT_FALSE(fields(ns).contains("f:spec"));
}

TEST(Reference, SetsTimeOnlyOnChanges) {
  TestServer server;
  server.post(kMaps, parse(R"({"metadata":{"name":"s"},"data":{"a":"1"}})"));
  const auto apply = [&](std::string_view manager) {
    return server.patch(under(kMaps, "s") + "?fieldManager=" + std::string(manager), "apply",
                        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},)"
                        R"("data":{"a":"1"}})");
  };
  const Answer same = apply("m");
  EXPECT_EQ(same.value["metadata"]["managedFields"][0]["manager"].as_string(), "m");
  EXPECT_FALSE(same.value["metadata"]["managedFields"][0].contains("time"));
  server.post(kDeployments, deployment());
  server.patch(under(kDeployments, "d/scale"), "merge", R"({"spec":{"replicas":3}})");
  const Value entries = server.get(under(kDeployments, "d")).value["metadata"]["managedFields"];
  for (const Value& entry : entries.items()) {
    EXPECT_EQ(entry.contains("time"), entry["subresource"].as_string() != "scale");
  }
}

TEST(Reference, NamesAvailableRepresentations) {
  TestServer server;
  const auto accept = [&](std::string_view path, std::string type) {
    return server.call("GET " + std::string(path), {}, {{"accept", std::move(type)}});
  };
  const Answer list = accept(kMaps, "text/csv");
  EXPECT_EQ(list.message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
  server.post(kMaps, parse(R"({"metadata":{"name":"s"}})"));
  EXPECT_EQ(accept(under(kMaps, "s"), "text/csv").message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
  const Answer one = accept(kMaps, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
  EXPECT_EQ(one.message(),
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*core.ConfigMapList)");
  const Answer many =
      accept(under(kMaps, "s"), "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
  EXPECT_EQ(many.message(),
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            "(*core.ConfigMap)");
}

TEST(Reference, WarnsOfProbableMistakes) {
  TestServer server;
  const Answer made = server.post(
      kDeployments,
      deployment(R"({"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}],)"
                 R"("ports":[{"containerPort":80,"name":"h"}]},{"name":"d","image":"i",)"
                 R"("ports":[{"containerPort":80,"name":"h"}]}]})"));
  const std::string at = "299 - \"spec.template.spec.containers";
  EXPECT_THAT(
      made.warnings(),
      ElementsAre(
          at + "[0].env[1]: hides previous definition of \\\"A\\\", which may be dropped when "
               "using apply\"",
          at + "[1].ports[0]: duplicate port definition with "
               "spec.template.spec.containers[0].ports[0]\"",
          at + "[1].ports[0]: duplicate port name \\\"h\\\" with "
               "spec.template.spec.containers[0].ports[0], services and probes that select "
               "ports by name will use spec.template.spec.containers[0].ports[0]\""));
  const Answer secret = server.post("/api/v1/namespaces/tst/secrets",
                                    parse(R"({"metadata":{"name":"t"},"type":"kubernetes.io/tls",)"
                                          R"("data":{"tls.crt":"YQ==","tls.key":"YQ=="}})"));
  EXPECT_THAT(secret.warnings(),
              ElementsAre("299 - \"tls: failed to find any PEM data in certificate input\""));
}

TEST(Reference, ProbesNothingThatRunsOnce) {
  TestServer server;
  const Answer refused = server.post(
      kDeployments,
      deployment(R"({"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"i",)"
                 R"("image":"i","readinessProbe":{"tcpSocket":{"port":1}}}]})"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("spec.template.spec.initContainers[0].readinessProbe: Forbidden: may not be "
                "set for init containers without restartPolicy=Always"));
}

TEST(Reference, SaysWhyAGatedPodIsNotScheduled) {
  TestServer server;
  make_account(server);
  const Answer made = server.post(
      kPods,
      pod(R"({"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"ex.com/g"}]})"));
  EXPECT_EQ(made.value["status"]["conditions"][0]["reason"].as_string(), "SchedulingGated");
}

TEST(Reference, ReadsDeleteOptionsBeforeItLooks) {
  TestServer server;
  const Answer query = server.remove(under(kMaps, "none") + "?gracePeriodSeconds=x");
  EXPECT_EQ(query.status, 400);
  EXPECT_EQ(query.message(), R"(strconv.ParseInt: parsing "x": invalid syntax)");
  const Answer body = server.remove(under(kMaps, "none"), parse(R"({"gracePeriodSeconds":"x"})"));
  EXPECT_EQ(body.status, 400);
}

TEST(Reference, HasNoReasonForIllTypedConfigurations) {
  TestServer server;
  const Answer answer =
      server.patch(under(kMaps, "s") + "?fieldManager=m", "apply",
                   R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":"x"})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.reason(), "");
  EXPECT_THAT(answer.message(),
              HasSubstr("failed to create typed patch object (/s; /v1, Kind=ConfigMap): .data"));
}

TEST(Reference, HasTwoNamesForOneAddress) {
  TestServer server;
  const Answer node = server.post(
      "/api/v1/nodes", parse(R"({"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"}})"));
  EXPECT_EQ(node.value["spec"]["podCIDRs"], parse(R"(["10.1.0.0/24"])"));
}

TEST(Reference, ScalesByProcessorLoadByDefault) {
  TestServer server;
  const Answer made =
      server.post("/apis/autoscaling/v1/namespaces/tst/horizontalpodautoscalers",
                  parse(R"({"metadata":{"name":"h"},"spec":{"maxReplicas":2,"scaleTargetRef":)"
                        R"({"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}})"));
  EXPECT_EQ(made.value["spec"]["targetCPUUtilizationPercentage"].as_int(), 80);
  const Answer newer = server.get("/apis/autoscaling/v2/namespaces/tst/horizontalpodautoscalers/h");
  EXPECT_EQ(newer.value["spec"]["metrics"].size(), 1U);
}

TEST(Reference, ReportsBothFlawsOfVersionMatch) {
  TestServer server;
  const Answer answer = server.get(std::string(kMaps) + "?resourceVersionMatch=Foo");
  EXPECT_EQ(answer.value["details"]["causes"].size(), 2U) << answer.text;
}

}  // namespace
}  // namespace athanor::apiserver::reference_test
