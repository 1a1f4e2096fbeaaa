// SPDX-License-Identifier: Apache-2.0
// Forms of requests and answers that clients meet rarely: tables of reviews, YAML with repeated
// keys, watches over WebSocket, health checks one by one, and a namespace that cannot be emptied.
#include "embedded/apiserver/loops/control_loop.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::request_forms_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
constexpr const char* kMapsPath = "/api/v1/namespaces/tst/configmaps";

TEST(Reviews, AreNoTables) {
  TestServer server;
  const std::string review =
      R"({"spec":{"user":"u","resourceAttributes":{"verb":"get","resource":"pods"}}})";
  for (const char* path : {"/apis/authorization.k8s.io/v1/subjectaccessreviews",
                           "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           "/apis/authentication.k8s.io/v1/tokenreviews",
                           "/apis/authentication.k8s.io/v1/selfsubjectreviews"}) {
    const Answer refused = server.call("POST " + std::string(path), review, {{"accept", kTable}});
    EXPECT_EQ(refused.status, 406) << path;
    EXPECT_EQ(refused.reason(), "NotAcceptable");
    EXPECT_EQ(refused.message(),
              "only the following media types are accepted: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf");
  }
  const Answer either =
      server.call("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", review,
                  {{"accept", std::string(kTable) + ",application/json"}});
  EXPECT_EQ(either.status, 201);
  EXPECT_EQ(either.value["kind"].as_string(), "SubjectAccessReview");
  EXPECT_EQ(server.call("GET /api/v1/componentstatuses", "", {{"accept", kTable}}).status, 200);
}

TEST(Reviews, CheckSelectors) {
  TestServer server;
  const auto causes = [&](const std::string& selector) {
    const Answer answer = server.call(
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        R"({"spec":{"resourceAttributes":{"verb":"list","resource":"pods","fieldSelector":)" +
            selector + "}}}");
    return answer.status == 201 ? std::string() : answer.message();
  };
  EXPECT_EQ(causes(R"({"rawSelector":"a=b"})"), "");
  EXPECT_EQ(causes(R"({"requirements":[{"key":"a","operator":"Newer"}]})"), "");
  EXPECT_THAT(
      causes(R"({"rawSelector":"a=b","requirements":[{"key":"a","operator":"Exists"}]})"),
      HasSubstr("spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: \"a=b\": "
                "may not specified at the same time as requirements"));
  EXPECT_THAT(causes("{}"), HasSubstr("requirements or rawSelector is required"));
  EXPECT_THAT(causes(R"({"requirements":[{"key":"a","operator":"In"}]})"),
              HasSubstr("requirements[0].values: Required value: must be specified when"));
  EXPECT_THAT(causes(R"({"requirements":[{"key":"a","operator":"Exists","values":["b"]}]})"),
              HasSubstr("requirements[0].values: Forbidden: may not be specified when"));
}

TEST(YamlBodies, NameTheLinesOfRepeatedKeys) {
  TestServer server;
  const std::string text =
      "metadata:\n  name: a\n  nope: 1\n  name: b\ndata:\n  k: v\ndata:\n  k: w\n";
  const Answer strict = server.call("POST " + std::string(kMapsPath) + "?fieldValidation=Strict",
                                    text, {{"content-type", "application/yaml"}});
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(strict.message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "yaml: unmarshal errors:\n  line 4: key \"name\" already set in map\n  line 8: key "
            "\"data\" already set in map, unknown field \"metadata.nope\"");
  const Answer warned =
      server.call("POST " + std::string(kMapsPath), text, {{"content-type", "application/yaml"}});
  EXPECT_EQ(warned.status, 201);
  EXPECT_EQ(warned.value["metadata"]["name"].as_string(), "b");
  EXPECT_THAT(warned.warnings(),
              ElementsAre(HasSubstr("line 4: key \\\"name\\\" already set in map"),
                          HasSubstr("unknown field")));
  const Answer ignored =
      server.call("POST " + std::string(kMapsPath) + "?fieldValidation=Ignore",
                  "metadata:\n  name: c\n  name: d\n", {{"content-type", "application/yaml"}});
  EXPECT_EQ(ignored.status, 201);
  EXPECT_TRUE(ignored.warnings().empty());
}

TEST(YamlBodies, NameTheLinesOfRepeatedKeysInApplies) {
  TestServer server;
  const std::string path = std::string(kMapsPath) + "/a?fieldManager=m&fieldValidation=";
  const std::string text =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n  k: w\n";
  const Answer strict = server.patch(path + "Strict", "apply", text);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(strict.message(),
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
            "  line 7: key \"k\" already set in map");
  const Answer json = server.patch(
      path + "Strict", "apply",
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v","k":"w"}})");
  EXPECT_THAT(json.message(), HasSubstr("line 1: key \"k\" already set in map"));
  const Answer warned = server.patch(path + "Warn", "apply", text);
  EXPECT_EQ(warned.status, 201);
  EXPECT_THAT(warned.warnings(), ElementsAre(HasSubstr("line 7")));
  EXPECT_TRUE(server.patch(path + "Ignore", "apply", text).warnings().empty());
}

TEST(WatchList, TablesCarryTheEndOfTheInitialEvents) {
  TestServer server;
  server.post(kMapsPath, config_map("a"));
  const std::string query =
      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  Answer watch = server.call("GET " + (kMapsPath + query), "", {{"accept", kTable}});
  const auto events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 2U);
  const Value& table = events[1]["object"];
  EXPECT_EQ(table["kind"].as_string(), "Table");
  EXPECT_TRUE(table["columnDefinitions"].is_null());
  EXPECT_EQ(table["metadata"]["resourceVersion"].str(), std::to_string(server.store().revision()));
  ASSERT_EQ(table["rows"].size(), 1U);
  const Value& object = table["rows"][0]["object"];
  EXPECT_EQ(object["kind"].as_string(), "PartialObjectMetadata");
  EXPECT_EQ(object["metadata"]["annotations"]["k8s.io/initial-events-end"].as_string(), "true");
  // Of every kind, also where there is nothing to list.
  for (const char* path : {"/api/v1/pods", "/api/v1/nodes", "/apis/apps/v1/deployments",
                           "/apis/batch/v1/jobs", "/api/v1/services", "/api/v1/events"}) {
    Answer empty = server.call("GET " + (path + query), "", {{"accept", kTable}});
    const auto only = TestServer::events(empty);
    ASSERT_FALSE(only.empty()) << path;
    EXPECT_EQ(only.back()["type"].as_string(), "BOOKMARK");
    EXPECT_EQ(only.back()["object"]["rows"].size(), 1U) << path;
    EXPECT_FALSE(only.front()["object"]["columnDefinitions"].empty()) << path;
  }
}

Answer watch_over_websocket(TestServer& server, const std::string& protocols) {
  return server.call("GET " + std::string(kMapsPath) + "?watch=1", "",
                     {{"connection", "Upgrade"},
                      {"upgrade", "websocket"},
                      {"sec-websocket-version", "13"},
                      {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
                      {"sec-websocket-protocol", protocols}});
}

TEST(WebSocketWatch, RepeatsTheOnlySubprotocol) {
  TestServer server;
  EXPECT_EQ(watch_over_websocket(server, "base64.binary.k8s.io").header("Sec-WebSocket-Protocol"),
            "base64.binary.k8s.io");
  EXPECT_EQ(watch_over_websocket(server, "base64url.bearer.authorization.k8s.io.dA, x")
                .header("Sec-WebSocket-Protocol"),
            "x");
  EXPECT_EQ(watch_over_websocket(server, "").header("Sec-WebSocket-Protocol"), "");
  EXPECT_EQ(watch_over_websocket(server, "a, b").status, 400);
}

TEST(HealthChecks, AreExcludedAndListedByName) {
  TestServer server;
  EXPECT_EQ(server.get("/livez/ping").text, "ok");
  EXPECT_EQ(server.get("/readyz/etcd").text, "ok");
  EXPECT_EQ(server.get("/healthz/poststarthook/rbac/bootstrap-roles").text, "ok");
  EXPECT_EQ(server.get("/livez/shutdown").status, 404);
  const std::string listing = server.get("/livez?verbose&exclude=etcd&exclude=y&exclude=x").text;
  EXPECT_THAT(listing, HasSubstr("[+]ping ok\n"));
  EXPECT_THAT(listing, HasSubstr("[+]etcd excluded: ok\n"));
  EXPECT_THAT(listing,
              HasSubstr("warn: some health checks cannot be excluded: no matches for \"x\",\"y\"\n"
                        "livez check passed\n"));
}

TEST(MetricsEndpoint, CountsRequestsByFlow) {
  TestServer server;
  server.get(kMapsPath);
  const std::string text = server.get("/metrics").text;
  for (
      const char* line :
      {R"(apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} )",
       R"(apiserver_flowcontrol_current_executing_requests{flow_schema="exempt",priority_level="exempt"} 1)",
       R"(apiserver_flowcontrol_rejected_requests_total{flow_schema="exempt",priority_level="exempt",reason="time-out"} 0)",
       R"(apiserver_flowcontrol_request_execution_seconds_count{flow_schema="exempt",priority_level="exempt",type="regular"} )"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  server.act_as("somebody", {"system:authenticated"});
  server.get(kMapsPath);
  EXPECT_THAT(server.get("/metrics").text,
              HasSubstr("dispatched_requests_total{flow_schema=\"global-default\","
                        "priority_level=\"global-default\"} 1"));
}

void warn_of_hosts(std::string_view resource, const Value& object,
                   std::vector<std::string>& warnings) {
  for (const char* field : {"hostPID", "hostIPC"}) {
    if (object["spec"]["template"]["spec"][field].as_bool()) {
      warnings.push_back(std::string(resource) + " " + field);
    }
  }
}

TEST(FieldsWithoutEffect, AreWarnedOfWhereTheyAreAdded) {
  Options options;
  options.warn_of_fields = &warn_of_hosts;
  TestServer server(std::move(options));
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  const Answer made = server.call("POST " + path, R"({"metadata":{"name":"d"},"spec":{"selector":
      {"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostPID":true,
      "containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.warnings(), ElementsAre("299 - \"deployments.apps hostPID\""));
  const auto patched = [&](const std::string& body) {
    return server.patch(path + "/d", "merge", body).warnings();
  };
  EXPECT_TRUE(patched(R"({"spec":{"replicas":3}})").empty());
  EXPECT_TRUE(patched(R"({"metadata":{"labels":{"x":"y"}}})").empty());
  EXPECT_THAT(patched(R"({"spec":{"template":{"spec":{"hostIPC":true}}}})"),
              ElementsAre("299 - \"deployments.apps hostIPC\""));
}

TEST(Events, AreSelectedBySource) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/events";
  const auto make = [&](const std::string& name, const std::string& more) {
    EXPECT_EQ(
        server
            .call("POST " + path, R"({"metadata":{"name":")" + name +
                                      R"("},"involvedObject":{"namespace":"tst"},)" + more + "}")
            .status,
        201);
  };
  make("old", R"("source":{"component":"kubelet"})");
  make(
      "new",
      R"("reportingComponent":"kubelet","reportingInstance":"n","action":"a","reason":"r","type":"Normal","eventTime":"2026-11-20T10:00:00.000000Z")");
  make("other", R"("source":{"component":"scheduler"})");
  const Answer found = server.get(path + "?fieldSelector=source=kubelet");
  ASSERT_EQ(found.value["items"].size(), 2U) << found.text;
  EXPECT_EQ(server.get(path + "?fieldSelector=reportingComponent=kubelet").value["items"].size(),
            1U);
}

TEST(NamespaceDeletion, WaitsForAnAggregatedServer) {
  TestServer server;
  const std::string service = "/apis/apiregistration.k8s.io/v1/apiservices";
  ASSERT_EQ(server
                .call("POST " + service,
                      R"({"metadata":{"name":"v1.far.example"},"spec":{"group":"far.example",
                          "version":"v1","groupPriorityMinimum":1,"versionPriority":1,
                          "insecureSkipTLSVerify":true,
                          "service":{"namespace":"tst","name":"far"}}})")
                .status,
            201);
  const auto loop = make_namespace_controller(
      {.store = server.store(), .server = server.server(), .registry = server.server().registry()});
  server.post("/api/v1/namespaces", parse(R"({"metadata":{"name":"going"}})"));
  server.remove("/api/v1/namespaces/going");
  loop->start();
  loop->run(server.now());
  const Answer kept = server.get("/api/v1/namespaces/going");
  ASSERT_EQ(kept.status, 200);
  const Value& condition = kept.value["status"]["conditions"][0];
  EXPECT_EQ(condition["type"].as_string(), "NamespaceDeletionDiscoveryFailure");
  EXPECT_EQ(condition["status"].as_string(), "True");
  EXPECT_EQ(condition["reason"].as_string(), "DiscoveryFailed");
  EXPECT_EQ(condition["message"].as_string(),
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of "
            "server APIs: far.example/v1: stale GroupVersion discovery: far.example/v1");
  server.remove(service + "/v1.far.example");
  loop->start();
  loop->run(server.now());
  EXPECT_EQ(server.get("/api/v1/namespaces/going").status, 404);
}

}  // namespace
}  // namespace athanor::apiserver::request_forms_test
