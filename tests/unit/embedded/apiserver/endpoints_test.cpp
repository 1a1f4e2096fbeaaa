// SPDX-License-Identifier: Apache-2.0
// Endpoints beside the resources: metrics, Swagger (docs/spec/apiserver.md 4.5, 4.6).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::endpoints_test {
namespace {

using testing::HasSubstr;

TEST(MetricsEndpoint, CountsRequestsByVerbAndResource) {
  TestServer server;
  server.get("/api/v1/namespaces/tst/configmaps");
  server.get("/api/v1/namespaces/tst/configmaps/none");
  server.call("POST /api/v1/namespaces/tst/configmaps?dryRun=All", R"({"metadata":{"name":"a"}})");
  server.get("/apis/none.example/v1/things");
  const Answer metrics = server.get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  for (
      const char* line :
      {R"(apiserver_request_total{code="200",component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1",dry_run=""} 1)",
       R"(apiserver_request_total{code="404",component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1",dry_run=""} 1)",
       R"(apiserver_request_total{code="201",component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="POST",version="v1",dry_run="All"} 1)",
       R"(apiserver_request_duration_seconds_count{component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 1)",
       R"(apiserver_current_inflight_requests{request_kind="mutating"} 0)",
       R"(apiserver_current_inflight_requests{request_kind="readOnly"} 1)",
       R"(apiserver_storage_objects{resource="namespaces"})", "apiserver_longrunning_requests"}) {
    EXPECT_THAT(metrics.text, HasSubstr(line));
  }
}

// What a client makes up must not become labels without end.
TEST(MetricsEndpoint, UnknownPathsAndMethodsAreOneLabel) {
  TestServer server;
  const std::size_t before = server.get("/metrics").text.size();
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    server.get("/apis/g" + n + "/v1/r" + n + "/x/s" + n);
    server.get("/p" + n);
    server.call("M" + n + " /api/v1/namespaces/tst/pods");
    server.get("/api/v1/namespaces/tst/pods/p/s" + n);
  }
  EXPECT_LT(server.get("/metrics").text.size(), before + 20'000);
}

TEST(MetricsEndpoint, WatchesCount) {
  TestServer server;
  Answer watch = server.get("/api/v1/namespaces/tst/configmaps?watch=1");
  server.post("/api/v1/namespaces/tst/configmaps", config_map("a"));
  const std::string text = server.get("/metrics").text;
  EXPECT_THAT(
      text, HasSubstr("apiserver_longrunning_requests{component=\"apiserver\",verb=\"WATCH\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("apiserver_watch_events_total{group=\"\",resource=\"configmaps\"} 1"));
}

TEST(MetricsEndpoint, HealthChecksAreIndicators) {
  TestServer server;
  const Answer answer = server.get("/metrics/slis");
  EXPECT_THAT(answer.text, HasSubstr("kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 1"));
  server.server().begin_shutdown();
  EXPECT_THAT(server.get("/metrics/slis").text,
              HasSubstr("kubernetes_healthcheck{name=\"shutdown\",type=\"readyz\"} 0"));
}

TEST(SwaggerEndpoint, IsJsonOrProtobuf) {
  TestServer server;
  const Answer swagger = server.get("/openapi/v2");
  ASSERT_EQ(swagger.status, 200);
  EXPECT_EQ(swagger.value["swagger"].as_string(), "2.0");
  EXPECT_TRUE(swagger.value["definitions"].contains("io.k8s.api.core.v1.Pod"));
  EXPECT_TRUE(swagger.value["paths"].contains("/api/v1/namespaces/{namespace}/pods/{name}"));
  const Answer packed =
      server.call("GET /openapi/v2", "",
                  {{"accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  ASSERT_EQ(packed.status, 200);
  EXPECT_EQ(packed.content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_TRUE(packed.text.starts_with(std::string("\x0a\x03") + "2.0\x12"))
      << packed.text.substr(0, 8);
  EXPECT_NE(packed.text.find("io.k8s.api.core.v1.Pod"), std::string::npos);
  EXPECT_EQ(server.call("GET /openapi/v2", "", {{"accept", "text/html"}}).status, 406);
  EXPECT_EQ(server.call("GET /openapi/v2", "", {{"if-none-match", swagger.header("Etag")}}).status,
            304);
}

}  // namespace
}  // namespace athanor::apiserver::endpoints_test
