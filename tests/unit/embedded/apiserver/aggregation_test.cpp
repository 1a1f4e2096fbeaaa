// SPDX-License-Identifier: Apache-2.0
// Group versions that another API server serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"
#include "unit/embedded/apiserver/webhooks/fake_outside.hpp"

namespace athanor::apiserver::aggregation_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr std::string_view kName = "v1beta1.metrics.k8s.io";
constexpr std::string_view kHost = "https://metrics.tst.svc:443";

class AggregationTest : public testing::Test {
 protected:
  AggregationTest() {
    const Answer made =
        server_.post(kServices, parse(R"({"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{
          "group":"metrics.k8s.io","version":"v1beta1","groupPriorityMinimum":100,
          "versionPriority":10,"insecureSkipTLSVerify":true,
          "service":{"name":"metrics","namespace":"tst"}}})"));
    EXPECT_EQ(made.status, 201) << made.message();
  }
  void start_backend() {
    server_.post("/api/v1/namespaces/tst/services",
                 parse(R"({"metadata":{"name":"metrics","annotations":
                   {"athanor.dev/endpoint":"127.0.0.1:4443"}},"spec":{"ports":[{"port":443}]}})"));
    outside_.on(std::string(kHost) + "/apis/metrics.k8s.io/v1beta1", [](const Value&) {
      return json_answer(parse(R"({"kind":"APIResourceList","groupVersion":"metrics.k8s.io/v1beta1",
        "resources":[{"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics",
                      "verbs":["get","list"]},
                     {"name":"nodes/usage","singularName":"","namespaced":false,"kind":"Usage",
                      "verbs":["get"]}]})"));
    });
    settle();
  }
  // One tick asks, the next one reads the answer.
  void settle() {
    server_.advance(std::chrono::seconds(3));
    server_.advance(std::chrono::milliseconds(250));
  }
  Value condition() {
    return server_.get(std::string(kServices) + "/" + std::string(kName))
        .value["status"]["conditions"][0];
  }

  FakeOutside outside_{};
  TestServer server_{{}, &outside_};
};

TEST_F(AggregationTest, WithoutItsServiceItIsUnavailable) {
  settle();
  const Value found = condition();
  EXPECT_EQ(found["type"], Value("Available"));
  EXPECT_EQ(found["status"], Value("False"));
  EXPECT_EQ(found["reason"], Value("ServiceNotFound"));
  EXPECT_EQ(found["message"], Value(R"(service/metrics in "tst" is not present)"));
  const Answer answer = server_.get("/apis/metrics.k8s.io/v1beta1/nodes");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.text, "service unavailable\n");
}

TEST_F(AggregationTest, ABackendThatAnswersIsAvailable) {
  start_backend();
  const Value found = condition();
  EXPECT_EQ(found["status"], Value("True"));
  EXPECT_EQ(found["reason"], Value("Passed"));
  EXPECT_EQ(found["message"], Value("all checks passed"));
  const OutsideRequest& asked = outside_.asked.back().request;
  EXPECT_EQ(asked.connect_to, "127.0.0.1:4443");
  EXPECT_THAT(asked.headers, Contains(Pair("X-Remote-User", "system:kube-aggregator")));
}

TEST_F(AggregationTest, ItsOpenApiIsPartOfOurs) {
  const std::string path = "/openapi/v3/apis/metrics.k8s.io/v1beta1";
  EXPECT_EQ(server_.get(path).status, 404);
  outside_.on(std::string(kHost) + path,
              [](const Value&) { return json_answer(parse(R"({"openapi":"3.0.0","paths":{}})")); });
  start_backend();
  settle();
  const std::string url = server_.get("/openapi/v3")
                              .value["paths"]["apis/metrics.k8s.io/v1beta1"]["serverRelativeURL"]
                              .str();
  EXPECT_TRUE(url.starts_with(path + "?hash=")) << url;
  const Answer document = server_.get(url);
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.value["openapi"], Value("3.0.0"));
  EXPECT_EQ(server_.get(path + "?hash=old").header("Location"), url);
}

TEST_F(AggregationTest, AddsOpenApiOfRemoteGroupsToV2) {
  EXPECT_FALSE(server_.get("/openapi/v2").value["paths"].contains("/apis/metrics.k8s.io/v1beta1/"));
  outside_.on(std::string(kHost) + "/openapi/v3/apis/metrics.k8s.io/v1beta1", [](const Value&) {
    return json_answer(parse(R"({"openapi":"3.0.0",
        "paths":{"/apis/metrics.k8s.io/v1beta1/":{"get":{"responses":{}}}},
        "components":{"schemas":{"io.k8s.metrics.NodeMetrics":{"type":"object","properties":{
          "usage":{"$ref":"#/components/schemas/io.k8s.metrics.Usage"}}}}}})"));
  });
  start_backend();
  settle();
  const Answer swagger = server_.get("/openapi/v2");
  EXPECT_TRUE(swagger.value["paths"].contains("/apis/metrics.k8s.io/v1beta1/"));
  EXPECT_TRUE(swagger.value["paths"].contains("/apis/apps/v1/namespaces/{namespace}/deployments"));
  EXPECT_EQ(swagger.value["definitions"]["io.k8s.metrics.NodeMetrics"]["properties"]["usage"],
            parse(R"({"$ref":"#/definitions/io.k8s.metrics.Usage"})"));
}

TEST_F(AggregationTest, ConnectionsThatLeaveHttpArePassedOn) {
  start_backend();
  outside_.on(std::string(kHost) + "/apis/metrics.k8s.io/v1beta1/shell", [](const Value&) {
    OutsideAnswer answer;
    answer.status = 101;
    answer.headers = {{"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4"}};
    answer.channel = std::make_shared<EchoTunnel>();
    return answer;
  });
  Request request;
  request.method = "POST";
  request.path = "/apis/metrics.k8s.io/v1beta1/shell";
  request.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
  request.credentials.internal_user = "admin";
  Response response = server_.server().handle(request, server_.now());
  EXPECT_EQ(response.status, 101);
  EXPECT_THAT(response.headers, Contains(Pair("Upgrade", "SPDY/3.1")));
  EXPECT_THAT(response.headers, Contains(Pair("X-Stream-Protocol-Version", "v4")));
  ASSERT_NE(response.tunnel, nullptr);
  response.tunnel->feed("hello");
  std::string heard;
  response.tunnel->pull(heard);
  EXPECT_EQ(heard, "hello");
  const OutsideRequest& asked = outside_.asked.back().request;
  EXPECT_TRUE(asked.upgrade);
  EXPECT_THAT(asked.headers, Contains(Pair("Upgrade", "SPDY/3.1")));
  EXPECT_THAT(asked.headers, Contains(Pair("X-Remote-User", "admin")));
}

TEST_F(AggregationTest, RequestsArePassedOnWithTheirUser) {
  start_backend();
  outside_.on(std::string(kHost) + "/apis/metrics.k8s.io/v1beta1/nodes", [](const Value&) {
    OutsideAnswer answer = json_answer(parse(R"({"kind":"NodeMetricsList"})"), 418);
    answer.headers.emplace_back("x-own", "kept");
    answer.headers.emplace_back("content-length", "12");
    return answer;
  });
  const Answer answer =
      server_.call("GET /apis/metrics.k8s.io/v1beta1/nodes?limit=5", {},
                   {{"authorization", "Bearer secret"}, {"x-remote-user", "evil"}, {"x-my", "1"}});
  EXPECT_EQ(answer.status, 418);
  EXPECT_EQ(answer.value["kind"], Value("NodeMetricsList"));
  EXPECT_EQ(answer.header("X-Own"), "kept");
  EXPECT_EQ(answer.header("Content-Length"), "");
  const OutsideRequest& asked = outside_.asked.back().request;
  EXPECT_EQ(asked.method, "GET");
  EXPECT_EQ(asked.url, std::string(kHost) + "/apis/metrics.k8s.io/v1beta1/nodes?limit=5");
  EXPECT_TRUE(asked.stream);
  EXPECT_THAT(asked.headers, Contains(Pair("X-Remote-User", "admin")));
  EXPECT_THAT(asked.headers, Contains(Pair("X-Remote-Group", "system:masters")));
  EXPECT_THAT(asked.headers, Contains(Pair("X-My", "1")));
  EXPECT_THAT(asked.headers, testing::Not(Contains(Pair("Authorization", testing::_))));
  EXPECT_THAT(asked.headers, testing::Not(Contains(Pair("X-Remote-User", "evil"))));
}

TEST_F(AggregationTest, DiscoveryShowsBoth) {
  start_backend();
  const Answer groups = server_.get("/apis");
  std::vector<std::string> names;
  const Value list = groups.value["groups"];
  for (const Value& group : list.items()) {
    names.push_back(group["name"].str());
  }
  EXPECT_THAT(names, Contains("apps"));
  EXPECT_THAT(names, Contains("metrics.k8s.io"));
  EXPECT_EQ(server_.get("/apis/metrics.k8s.io").value["preferredVersion"]["groupVersion"],
            Value("metrics.k8s.io/v1beta1"));
  const auto aggregated = [&] {
    const Answer answer = server_.call(
        "GET /apis", {},
        {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}});
    const Value items = answer.value["items"];
    for (const Value& item : items.items()) {
      if (item["metadata"]["name"].as_string() == "metrics.k8s.io") {
        return item["versions"][0];
      }
    }
    return Value();
  };
  const Value version = aggregated();
  EXPECT_EQ(version["freshness"], Value("Current"));
  EXPECT_EQ(version["resources"][0]["resource"], Value("nodes"));
  EXPECT_EQ(version["resources"][0]["scope"], Value("Cluster"));
  EXPECT_EQ(version["resources"][0]["responseKind"]["group"], Value("metrics.k8s.io"));
  EXPECT_EQ(version["resources"][0]["subresources"][0]["subresource"], Value("usage"));
  server_.remove("/api/v1/namespaces/tst/services/metrics");
  settle();
  EXPECT_EQ(aggregated(), parse(R"({"version":"v1beta1","freshness":"Stale"})"));
}

TEST_F(AggregationTest, ABackendThatIsGoneIsReported) {
  start_backend();
  outside_.on(std::string(kHost) + "/apis/metrics.k8s.io/v1beta1/nodes", [](const Value&) {
    return OutsideAnswer{.failure = "dial tcp 127.0.0.1:4443: connect: connection refused"};
  });
  const Answer answer = server_.get("/apis/metrics.k8s.io/v1beta1/nodes");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.text,
            "error trying to reach service: dial tcp 127.0.0.1:4443: connect: connection "
            "refused\n");
  outside_.on(std::string(kHost) + "/apis/metrics.k8s.io/v1beta1",
              [](const Value&) { return OutsideAnswer{.status = 500}; });
  server_.advance(std::chrono::seconds(31));
  settle();
  EXPECT_EQ(condition()["reason"], Value("FailedDiscoveryCheck"));
  EXPECT_THAT(condition()["message"].str(), HasSubstr("bad status from"));
}

TEST_F(AggregationTest, ForwardsNoLocallyServedGroup) {
  EXPECT_EQ(server_
                .patch(std::string(kServices) + "/v1.apps", "merge",
                       R"({"spec":{"service":{"name":"metrics","namespace":"tst"},
                           "insecureSkipTLSVerify":true}})")
                .status,
            200);
  settle();
  EXPECT_EQ(server_.get("/apis/apps/v1/namespaces/tst/deployments").status, 200);
}

}  // namespace
}  // namespace athanor::apiserver::aggregation_test
